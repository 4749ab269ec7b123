/** A place in an app's events, as operators write it: a number, or a time in UTC. */
import { dayOf } from '../kit/filters.tsx'

export const pointHint = 'a number such as 17, or a time in UTC such as 2026-01-31 12:00'

export function parsePoint(typed: string): number | Date | undefined {
  const text = typed.trim()
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  const [, day = '', time = '00:00'] = /^(\d{4}-\d\d-\d\d)(?:[ T]([\d:.]{5,12})Z?)?$/.exec(text) ?? []
  const at = dayOf(day) && new Date(`${day}T${time}Z`)
  return at && !Number.isNaN(at.getTime()) ? at : undefined
}
