/** The event stream of one session. It does not reconnect by itself: wallet-session decides when to open another. */

export type LiveChange = { readonly balance: number; readonly sequence: number; readonly isActive: boolean }

export type LiveEvents = {
  readonly changed: (change: LiveChange) => void
  readonly expiring: () => void
  readonly expired: () => void
  readonly ended: (code: string) => void
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
  listen('ended', ({ code }: { code?: string }) => (close(), on.ended(code ?? 'INVALID_SESSION')))
  // EventSource would reconnect without a backoff and would hide a refusal, so it is closed at its first error.
  source.addEventListener('error', () => (close(), on.lost()))
  return { close }
}

/**
 * How long to wait before the nth try in a row: up to half a minute, a quarter more or less at random, so
 * that visitors do not all come back at the same moment.
 */
export function backoffMs(failures: number, random: number): number {
  return Math.min(30_000, 500 * 2 ** (failures - 1)) * (0.75 + random / 2)
}
