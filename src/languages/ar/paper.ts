import type { Words } from '../words.ts'

export const words: Words['paper'] = {
  receipt: 'إيصال',
  statement: 'كشف حساب',
  print: 'طباعة',
  csvFile: 'ملف CSV',
  questions: 'لديك استفسار؟',
  receiptCode: 'رمز الإيصال',
  holder: 'صاحب المحفظة',
  refunded: 'المبلغ المسترد إلى البطاقة',
  opening: 'الرصيد الافتتاحي',
  closing: 'الرصيد الختامي',
  moneyIn: 'الوارد',
  moneyOut: 'الصادر',
  timeZone: 'المنطقة الزمنية',
  noEntries: 'لا توجد حركات في هذا الشهر.',
  tooLong: 'عدد الحركات في هذا الشهر: {count}. تعرض هذه الصفحة أول {shown}. ويحتوي ملف CSV عليها كلها.',
  amount: 'المبلغ',
  balance: 'الرصيد',
  reference: 'المرجع',
  currency: 'العملة',
  usedTitle: 'تُفتح هذه الصفحة مرة واحدة فقط',
  usedText: 'لحماية بياناتك انتهت صلاحية الرابط. افتحها من محفظتك مرة أخرى.',
  data: 'بياناتي',
  dataText:
    'كل البيانات التي لدى هذه الخدمة عنك في ملف واحد بصيغة JSON: حسابك، والتطبيقات المرتبطة، وعمليات الشحن، وسجل حسابك، وكل حركة في محفظتك.',
  dataFile: 'تنزيل',
}
