import type { Words } from '../words.ts'

export const words: Words['pending'] = {
  waitingEntry: 'شحن قيد التنفيذ',
  failedEntry: 'لم يكتمل الشحن',
  failedDeclined: 'رُفضت البطاقة. لم يتحرك أي مبلغ.',
  failedAuthentication: 'لم يتمكن المصرف من تأكيد هويتك. لم يتحرك أي مبلغ.',
  failedUnconfirmed: 'لم يتلقَّ مصرفك تأكيدًا. لم يتحرك أي مبلغ.',
  failedCancelled: 'أُلغي الشحن. لم يتحرك أي مبلغ.',
  failedOther: 'لم يُكمله المصرف. لم يتحرك أي مبلغ.',

  holdEntry: 'دفعة محجوزة',
  holdUntil: 'حتى {when}',
  holdsText: 'حجزت التطبيقات هذا المال لمدفوعات. وما لا تخصمه في الموعد يعود متاحًا لك.',
  holdTaken: 'دُفع {taken} من {amount}',
  holdsNone: 'لا يوجد مال محجوز.',
  holdsAll: 'عرض كل المحجوز',
  holdsMore: 'لا تُعرض الحجوزات الأقدم.',
  wholeBalance: 'الرصيد',
}
