import type { Words } from '../words.ts'

export const words: Words['topup'] = {
  amount: 'المبلغ',
  otherAmount: 'مبلغ آخر',
  continue: 'متابعة',
  amountWrong: 'أدخل مبلغًا بين {min} و{max}.',
  amountUnclear: 'يمكن قراءة هذا المبلغ بطريقتين. إذا كنت تقصد {amount} فأدخل {example}.',
  amountForeign: 'عملة هذه المحفظة هي {currency}. أدخل المبلغ بعملة {currency}.',
  amountMalformed: 'لا يمكننا قراءة هذا المبلغ. اكتبه هكذا: {example}.',
  topupAtLeast: 'الحد الأدنى للشحن هو {min}. ما يتبقى يبقى في محفظتك.',
  topupAtMost: 'الحد الأقصى للشحن الواحد هو {max}. يمكن إضافة الباقي في شحن آخر.',
  topupNoneTitle: 'الشحن غير متاح',
  topupNoneText: 'لا يمكن لهذه المحفظة قبول الدفع بالبطاقة في الوقت الحالي. لن يتأثر رصيدك.',
  topupFrozenText: 'المحفظة موقوفة، لذا لا يمكن إضافة رصيد بالبطاقة.',
  topupExpiredText: 'أغلق هذه النافذة واختر «إضافة رصيد» في {app} مرة أخرى.',
  topupInto: 'إلى محفظة {name}',
  topupPreparing: 'جارٍ تجهيز الدفع…',
  topupChecking: 'جارٍ التحقق من الدفع…',
  onItsWay: '{amount} في الطريق إليك. ما زال مصرفك يعالجه.',
  topupLands: 'إذا كنت قد دفعت، فسيصل المبلغ إلى محفظتك على أي حال.',
  backToWallet: 'العودة إلى المحفظة',
}
