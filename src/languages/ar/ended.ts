import type { Words } from '../words.ts'

export const words: Words['ended'] = {
  signedOutTitle: 'تم تسجيل خروجك',
  signedOutText:
    'سجّلت الخروج من {app} في نافذة أخرى أو على جهاز آخر. يبقى {app} مرتبطًا ويمكنه سحب المدفوعات من تلقاء نفسه.',
  everywhereTitle: 'تم تسجيل خروجك من كل مكان',
  everywhereText:
    'أغلق «تسجيل الخروج من كل مكان» محفظتك في كل تطبيق ومتصفح. تبقى التطبيقات مرتبطة ويمكنها سحب المدفوعات من تلقاء نفسها.',
  passwordChangedTitle: 'تم تغيير كلمة مرورك',
  passwordChangedText: 'لذلك تم تسجيل خروجك هنا. إذا لم تكن أنت من غيّرها فاختر كلمة مرور جديدة الآن.',
  disconnectedTitle: 'أُلغي ربط {app}',
  disconnectedText: 'لم يعد بإمكان {app} الاطلاع على محفظتك أو استخدامها. لربطه من جديد سجّل الدخول.',
  appOffTitle: 'تم إيقاف {app} مؤقتًا',
  appOffText: 'أوقفت {service} هذا التطبيق. لا يمكنه فتح محفظتك أو سحب المدفوعات. أموالك في أمان.',
  deletedTitle: 'حُذف حسابك',
  deletedText: 'لم تعد هذه المحفظة موجودة، وأُلغي ربط كل التطبيقات.',
  noSessionTitle: 'محفظتك غير مفتوحة هنا',
  noSessionText: 'لفتحها سجّل الدخول. أموالك في أمان.',
  closeWindow: 'يمكنك إغلاق هذه النافذة والعودة إلى {app}.',
}
