/** An app asks for its events again, at one of its endpoints. Operators registered the endpoint, so nothing is sent elsewhere. */
import { countWaitingEvents, findEndpoint } from '../../store/events/endpoints.ts'
import { findKept } from '../../store/events/feed.ts'
import { takeLimit, replaysOfApp } from '../limits.ts'
import type { Service } from '../service.ts'
import { replayEvents } from './manage-endpoints.ts'

/** Of one call, and of all calls of an app that wait to be sent. */
export const maxReplayedForApp = 1_000

/** While so many events of the app wait to be sent again, it takes at least this long until they are sent. */
const retryWhileFullSeconds = 60

export type AppReplay = { readonly endpointId: string; readonly from: number; readonly to: number }

export type AppReplayResult =
  | {
      readonly kind: 'accepted'
      /** How many numbers are sent again. The endpoint gets those above its position by themselves. */
      readonly count: number
      readonly isDisabled: boolean
    }
  | { readonly kind: 'no-endpoint' }
  | { readonly kind: 'gone'; readonly oldest: number }
  | { readonly kind: 'not-yet'; readonly last: number }
  | { readonly kind: 'limited' | 'full'; readonly retryAfterSeconds: number }

/** The same call again sends nothing twice that still waits. */
export async function replayForApp(
  service: Pick<Service, 'db' | 'secrets' | 'wakeUps'>,
  { clientId }: { readonly clientId: string },
  { endpointId, from, to }: AppReplay,
  address: string,
): Promise<AppReplayResult> {
  const { pool } = service.db
  const endpoint = await findEndpoint(pool, endpointId)
  if (endpoint?.clientId !== clientId) return { kind: 'no-endpoint' }
  const { last, oldest } = await findKept(pool, clientId)
  if (to > last) return { kind: 'not-yet', last }
  if (from < oldest) return { kind: 'gone', oldest }
  const limited = await takeLimit(service, replaysOfApp, clientId)
  if (limited) return limited
  const waiting = await countWaitingEvents(pool, clientId, maxReplayedForApp)
  if (waiting >= maxReplayedForApp) return { kind: 'full', retryAfterSeconds: retryWhileFullSeconds }
  const actor = { name: `app:${clientId}`, address }
  const replayed = await replayEvents(service, actor, endpointId, { first: from, last: to })
  if (!replayed) return { kind: 'no-endpoint' }
  const count = replayed.kind === 'added' ? replayed.last - replayed.first + 1 : 0
  return { kind: 'accepted', count, isDisabled: endpoint.disabledAt !== null }
}
