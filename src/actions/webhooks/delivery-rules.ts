/**
 * When the next attempt follows, and what a failure means. Three different events that fail without a success between them mean an
 * ill endpoint: it gets one probe at a time. An event that fails while others succeed is tried again by itself, and holds up nothing.
 */
import { illAfterEvents, isProven, type Endpoint } from '../../store/events/endpoints.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** After each failed run of an endpoint; the last one repeats. */
const probesMs = [5 * secondMs, 30 * secondMs, 2 * minuteMs, 10 * minuteMs, 30 * minuteMs, hourMs]
/** After each failed attempt of an event that was set aside: some three days. */
const retriesMs = [...probesMs, 2 * hourMs, 4 * hourMs, 8 * hourMs, 12 * hourMs, 24 * hourMs, 24 * hourMs]

const maxRetryAfterMs = 24 * hourMs
/** An endpoint that fails for so long is disabled. Its events wait for it. */
export const disableAfterMs = 120 * hourMs

/** Spreads attempts that failed together: ± 20 %. `random` is from 0 to 1. */
const spread = (ms: number, random: number) => Math.round(ms * (0.8 + 0.4 * random))

/** The wait that the receiver asked for counts if it is longer. */
const orLonger = (ms: number, askedMs: number | undefined) => Math.max(ms, Math.min(askedMs ?? 0, maxRetryAfterMs))

export function probeAfterMs(probes: number, askedMs: number | undefined, random: number): number {
  return orLonger(spread(probesMs[Math.min(probes, probesMs.length - 1)]!, random), askedMs)
}

/** Undefined when the event is given up. */
export function retryEventAfterMs(attempts: number, askedMs: number | undefined, random: number): number | undefined {
  const ms = retriesMs[attempts]
  return ms === undefined ? undefined : orLonger(spread(ms, random), askedMs)
}

/** The requests at once that an endpoint gets: one until it has answered, so that a dead one costs one at a time. */
export const maxWidth = 8

export function firstWidth(endpoint: Pick<Endpoint, 'failingSince' | 'lastSuccessAt'>): number {
  return isProven(endpoint) ? maxWidth : 1
}

export const widen = (width: number) => Math.min(maxWidth, width * 2)

export function isIll({ failedEvents }: Pick<Endpoint, 'failedEvents'>): boolean {
  return failedEvents >= illAfterEvents
}

/** How many mails a failure of this length is worth: after an hour, after a day, and when the endpoint was disabled. */
export function mailsDue(failingMs: number, isDisabled: boolean): 0 | 1 | 2 | 3 {
  if (isDisabled) return 3
  return failingMs >= 24 * hourMs ? 2 : failingMs >= hourMs ? 1 : 0
}

/** Seconds, or a date. */
export function parseRetryAfter(text: string | undefined, now: Date): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}
