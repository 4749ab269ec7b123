/** Structured logs: one JSON object a line. Only named fields get in, so no URL, body or header ever does. */
import { logLevels, type LogLevel } from '../config.ts'

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export type Log = {
  readonly debug: (message: string, fields?: LogFields) => void
  readonly info: (message: string, fields?: LogFields) => void
  readonly warn: (message: string, fields?: LogFields) => void
  readonly error: (message: string, fields?: LogFields) => void
}

export function openLog(level: LogLevel, write: (text: string) => void): Log {
  const lowest = logLevels.indexOf(level)
  const at = (name: Exclude<LogLevel, 'silent'>) => {
    if (logLevels.indexOf(name) < lowest) return () => {}
    return (message: string, fields?: LogFields) => {
      const rest = fields ? JSON.stringify(fields) : '{}'
      write(
        `{"time":"${timeText()}","level":"${name}","message":${JSON.stringify(message)}${rest === '{}' ? '' : ','}${rest.slice(1)}\n`,
      )
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** What a log may say of a fault: its kind, PostgreSQL's code, and the table and constraint. A message can hold what a user sent. */
export function faultFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { fault: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const frame = error.stack?.split('\n').find((line) => /\bsrc\//.test(line))
  return {
    fault: error.name,
    code,
    table: nameIn(error, 'table'),
    constraint: nameIn(error, 'constraint'),
    at: frame?.match(/src\/[\w./-]{1,200}:\d{1,9}/)?.[0],
  }
}

function nameIn(error: Error, field: 'table' | 'constraint'): string | undefined {
  const name: unknown = (error as Error & Record<typeof field, unknown>)[field]
  return typeof name === 'string' ? name : undefined
}

/** One line for each key and span of time, with the number of those that were left out: a fault a batch must not fill the disk. */
export function openRateLimit(everyMs: number): (key: string, write: (suppressed: number) => void) => void {
  const seen = new Map<string, { at: number; suppressed: number }>()
  return (key, write) => {
    const now = performance.now()
    const last = seen.get(key)
    if (last && now - last.at < everyMs) last.suppressed++
    else {
      // Keys are few, or hold a caller's address, of which there may be any number: memory stays bounded.
      if (seen.size > 1_000) seen.clear()
      seen.set(key, { at: now, suppressed: 0 })
      write(last?.suppressed ?? 0)
    }
  }
}

let timeMs = 0
let time = ''

/** Lines of the same millisecond share the text of their time. */
function timeText(): string {
  const now = Date.now()
  if (now !== timeMs) {
    timeMs = now
    time = new Date(now).toISOString()
  }
  return time
}
