/** Flags that choose events by number or by time. */
import type { ReplayRange } from '../actions/webhooks/manage-endpoints.ts'
import { UsageMistake, textOf, type Flag, type Invocation } from './command.ts'

export const rangeFlags: Readonly<Record<string, Flag>> = {
  first: { value: 'NUMBER', about: 'the first event' },
  last: { value: 'NUMBER', about: 'the last event (default: the first one)' },
  from: { value: 'TIME', about: 'instead: events from this time on, as 2026-01-31T12:00:00Z' },
  to: { value: 'TIME', about: 'up to this time (default: now)' },
}

export function rangeOf(invocation: Invocation, now: Date): ReplayRange {
  const [first, from] = [textOf(invocation, 'first'), textOf(invocation, 'from')]
  if ((first === undefined) === (from === undefined)) throw new UsageMistake('Write either --first or --from.')
  if (first !== undefined) {
    if (textOf(invocation, 'to') !== undefined) throw new UsageMistake('--to belongs to --from: write --last.')
    const number = parseEventNumber('--first', first)
    return { first: number, last: numberOf(invocation, 'last') ?? number }
  }
  if (textOf(invocation, 'last') !== undefined) throw new UsageMistake('--last belongs to --first: write --to.')
  return { from: timeOf(invocation, 'from')!, to: timeOf(invocation, 'to') ?? now }
}

export function numberOf(invocation: Invocation, flag: string): number | undefined {
  const text = textOf(invocation, flag)
  return text === undefined ? undefined : parseEventNumber(`--${flag}`, text)
}

export function parseEventNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageMistake(`${name}: write the number of an event.`)
  return Number(text)
}

export function timeOf(invocation: Invocation, flag: string): Date | undefined {
  const text = textOf(invocation, flag)
  if (text === undefined) return undefined
  const at = new Date(text)
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(at.getTime()))
    throw new UsageMistake(`--${flag}: write a time such as 2026-01-31T12:00:00Z.`)
  return at
}
