/** The event stream of one session. It never reconnects: wallet-session decides when to open another. */

export type LiveChange = {
  readonly balance: number
  readonly held: number
  readonly sequence: number
  readonly isActive: boolean
}

export type LiveEvents = {
  readonly changed: (change: LiveChange) => void
  readonly expiring: () => void
  readonly expired: () => void
  readonly ended: (end: { readonly code: string; readonly reason?: string }) => void
  readonly lost: () => void
}

export function openLive(session: string, on: LiveEvents): { close(): void } {
  const source = new EventSource(`/api/widget/events?session=${encodeURIComponent(session)}`)
  const close = () => source.close()
  const listen = (name: string, handle: (data: never) => void) =>
    source.addEventListener(name, (event: MessageEvent<string>) => handle(JSON.parse(event.data || '{}') as never))
  listen('wallet', on.changed)
  listen('expiring', on.expiring)
  listen('expired', () => (close(), on.expired()))
  listen('ended', (end: { code?: string; reason?: string }) => (close(), on.ended({ code: 'INVALID_SESSION', ...end })))
  // EventSource would reconnect without back-off and hide a refusal, so it is closed on its first error.
  source.addEventListener('error', () => (close(), on.lost()))
  return { close }
}

/**
 * The wait before the next attempt after `failures` failures in a row: up to 2 s, then up to twice as long each time, at most
 * 30 s. Nearly all of it is random: a restart ends every stream at once, and their sessions are read when they return.
 */
export function backoffMs(failures: number, random: number): number {
  return Math.min(30_000, 1_000 * 2 ** failures) * (0.05 + 0.95 * random)
}
