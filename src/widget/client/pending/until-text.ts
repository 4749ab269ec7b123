/** When something ends: "today, 10:30", "tomorrow, 10:30", then the date and the time. */
import { sameDay, shortTime } from '../format.ts'

export function untilText(at: Date, now: Date, lang: string): string {
  const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1)
  const isToday = at <= now || sameDay(at, now)
  if (!isToday && !sameDay(at, tomorrow))
    return new Intl.DateTimeFormat(lang, {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: 'numeric',
      minute: '2-digit',
    }).format(at)
  const day = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' }).format(isToday ? 0 : 1, 'day')
  return `${day}${lang === 'ar' ? '، ' : lang === 'ja' ? ' ' : ', '}${shortTime(at, lang)}`
}
