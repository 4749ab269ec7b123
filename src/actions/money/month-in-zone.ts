/** A month in a time zone. Pure. */
import { parseMonth, type Month } from './write-statement.ts'

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format(0)
    return name.length <= 64
  } catch {
    return false
  }
}

export function monthInZone(text: string, timeZone: string): Month | undefined {
  const month = parseMonth(text)
  return month && { text, from: toInstant(month.from, timeZone), until: toInstant(month.until, timeZone) }
}

/** The instant at which clocks in the zone show what UTC clocks show at `wall`; the second offset covers a clock change in between. */
function toInstant(wall: Date, timeZone: string): Date {
  const first = wall.getTime() - offsetMs(wall, timeZone)
  return new Date(wall.getTime() - offsetMs(new Date(first), timeZone))
}

/** How far clocks in the zone are ahead of UTC. */
function offsetMs(at: Date, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at.getTime() / 1000) * 1000
}
