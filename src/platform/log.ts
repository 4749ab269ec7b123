/** Structured logs: one JSON object per line. Only named fields are logged, never a URL, body or header. */
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

/** The fields of a fault that may be logged: its kind, PostgreSQL's code, table and constraint. A message may contain user input. */
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

/** The same in a line of text, for operators. */
export function faultText(error: unknown): string {
  const { fault, code, constraint, at } = faultFields(error)
  return [fault, code, constraint, at].filter((part) => part !== undefined).join(' ')
}

function nameIn(error: Error, field: 'table' | 'constraint'): string | undefined {
  const name: unknown = (error as Error & Record<typeof field, unknown>)[field]
  return typeof name === 'string' ? name : undefined
}

/** Writes one line per key and interval, with the number of suppressed ones: a fault in every batch must not fill the disk. */
export function openRateLimit(everyMs: number): (key: string, write: (suppressed: number) => void) => void {
  const seen = new Map<string, { at: number; suppressed: number }>()
  return (key, write) => {
    const now = performance.now()
    const last = seen.get(key)
    if (last && now - last.at < everyMs) last.suppressed++
    else {
      // Keys may contain callers' addresses, so bound the memory.
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
