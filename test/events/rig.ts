/** Apps with events, batches on connections that the test controls, and what the feed then has. */
import { setAppEvents } from '../../src/actions/apps/manage-apps.ts'
import type { Service } from '../../src/actions/service.ts'
import { isUnavailable, type Connection } from '../../src/store/connection/database.ts'
import { findEvents, type RecordedEvent } from '../../src/store/events/feed.ts'
import { numberEvents } from '../../src/store/events/number-events.ts'
import { openWriterClient, type WriterClient } from '../../src/store/writer/connection.ts'
import { postFast } from '../../src/store/writer/fast-statement.ts'
import type { PendingPosting } from '../../src/store/writer/posting.ts'
import { resolveLinks } from '../../src/store/writer/resolve-links.ts'
import { eventually } from '../eventually.ts'
import { newPosting, pendingOf } from '../postings.ts'
import { newApp, operator, type Credentials, type TestUser } from '../service.ts'

export async function newAppWithEvents(service: Service): Promise<Credentials> {
  const credentials = await newApp(service)
  await setAppEvents(service, operator, credentials.clientId, true)
  return credentials
}

/** A connection of a lane, whose waits for rows and open transactions the test ends, however slow the machine is. */
export async function openLane({ db }: Pick<Service, 'db'>): Promise<WriterClient> {
  const lane = await openPatiently(db.connection)
  await lane.client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
  return lane
}

/** On a starved machine a connection takes longer than the writer waits for one. */
async function openPatiently(connection: Connection): Promise<WriterClient> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await openWriterClient(connection, 60_000, () => {})
    } catch (error) {
      if (!isUnavailable(error) || attempts === 20) throw error
    }
  }
}

/** A credit of 0.01. */
export function creditOf({ clientId }: { clientId: string }, { serviceUserId }: TestUser): PendingPosting {
  return pendingOf(newPosting({ clientId, serviceUserId }, 1n, { hasEvents: true }))
}

/** A hold of 0.01 for a minute. */
export function reserveOf({ clientId }: { clientId: string }, { serviceUserId }: TestUser): PendingPosting {
  const hold = { kind: 'reserve', seconds: 60 } as const
  return pendingOf(newPosting({ clientId, serviceUserId }, -1n, { hasEvents: true, hold }))
}

/** A bonus of 0.01, which each app with a live link to the wallet learns of. */
export function bonusOf(walletId: string): PendingPosting {
  return pendingOf(newPosting({ walletId }, 1n, { counterAccount: 'bonus' }))
}

export async function postBatch({ client, number }: WriterClient, batch: readonly PendingPosting[]): Promise<void> {
  const links = client.isCluster() ? await resolveLinks(client, batch) : undefined
  const { answers } = await postFast(client, batch, number, links ? { links } : {})
  if (answers.length !== batch.length) throw new Error(`${batch.length - answers.length} postings were not decided`)
}

/** Gives every event its number, also beside a process or a timer that is at it. */
export async function numberAll(service: Service): Promise<void> {
  await eventually(async () => {
    await numberEvents(service.db)
    const { rows } = await service.db.pool.query<{ count: number }>(
      `select count(*)::int as count from journal j left join event_cursors c on c.writer = j.writer
       where j.awaits_number or (j.writer <> 0 and j.serial > coalesce(c.numbered_up_to, 0))`,
    )
    return rows[0]!.count
  }, 0)
}

/** All events of the app, checked to have the numbers 1, 2, 3 …, in pages of an odd size. */
export async function readAll(service: Service, clientId: string): Promise<RecordedEvent[]> {
  const all: RecordedEvent[] = []
  for (;;) {
    const { events, last } = await findEvents(service.db.pool, clientId, { after: all.length, limit: 37 })
    all.push(...events)
    for (const [i, { number }] of all.entries()) if (number !== i + 1) throw new Error(`${number} at place ${i + 1}`)
    if (all.length >= last) return all
  }
}

/** The sequences of each wallet, in the order of the feed. */
export function sequencesOf(events: readonly RecordedEvent[]): Record<string, number[]> {
  const found: Record<string, number[]> = {}
  for (const event of events)
    if ('transfer' in event) (found[event.transfer.walletId] ??= []).push(event.transfer.sequence)
  return found
}

/** Numbers from 0 to 1 that depend on the seed alone. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
