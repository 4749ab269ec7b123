import type { words as english } from './en.ts'

export const words: Readonly<Record<keyof typeof english, string>> = {
  apps: 'التطبيقات التي تستخدم محفظتي',
  appsText: 'يمكن لهذه التطبيقات الاطلاع على رصيدك والدفع منه.',
  thisApp: 'هذا التطبيق',
  connected: 'مرتبط {date}',
  disconnect: 'إلغاء الربط',
  disconnectApp: 'إلغاء ربط {app}',
  disconnectAsk: 'هل تريد إلغاء ربط {app}؟',
  disconnectText: 'لن يتمكن {app} بعد ذلك من الاطلاع على محفظتك أو استخدامها. تبقى أموالك لك.',
  disconnected: 'أُلغي ربط {app}.',
  cancel: 'إلغاء',
  switchAccount: 'تبديل الحساب',
  logOut: 'تسجيل الخروج',
}
