/**
 * The journal: what happened to the users of apps that have events on, in the transaction in which it happened. A row draws its serial
 * after the wallets it names are locked, so for each wallet the order of serials is the order of its entries.
 */
import { hexUuidArray, plainArray, textArray } from '../connection/arrays.ts'
import type { Queryable } from '../connection/database.ts'

/** What a row reports besides movements. */
export const facts = [
  'wallet.frozen',
  'wallet.unfrozen',
  'link.created',
  'link.disconnected',
  'user.deleted',
  'test.ping',
] as const
export type Fact = (typeof facts)[number]

/** Below the size from which PostgreSQL stores a row's arrays apart from it. */
export const maxEntriesPerRow = 64
/** Of a row that may have the ids of holds besides. */
const maxWithHolds = 40

/** An entry to report to the app that posted it. */
export type JournalEntry = { readonly clientId: string; readonly serviceUserId: string }

const linkUuidSql = `substr(l.id, 4)::uuid`
/** Only tests and seeds of older versions made other ids. Their users have no events. */
const hasUuidSql = `l.id ~ '^su_[0-9a-f]{32}$'`

function linkUuidOf(serviceUserId: string): string | undefined {
  return /^su_[0-9a-f]{32}$/.test(serviceUserId) ? serviceUserId.slice(3) : undefined
}

/** The parameters with `fastJournalValues`, in their order, from the one with that number on. */
export const journalParameters = (first: number) => ({
  links: `$${first}`,
  firsts: `$${first + 1}`,
  clients: `$${first + 2}`,
})
export const journalParameterCount = 3
/** Those of the fast statement. */
const usualParameters = journalParameters(17)

/** Of a row of `operation`: its app, if that has events. */
export const reportedToSql = `(${usualParameters.clients}::text[])[width_bucket(ordinal, ${usualParameters.firsts}::bigint[])]`

/**
 * The CTE of the fast statement. It aggregates the rows of `operation`, which come from `moved`, so it draws no serial before every
 * wallet of the batch is locked. A refusal has no ordinal, so it is in no part. A new hold has no entry: its number is 0.
 */
export function fastJournalSql(
  writer: string,
  {
    hasHolds,
    parameters = usualParameters,
  }: { readonly hasHolds: boolean; readonly parameters?: typeof usualParameters },
): string {
  const { links, firsts, clients } = parameters
  const [column, sequence, holdIds] = hasHolds
    ? [', hold_ids', 'coalesce(sequence, 0)', holdIdsSql]
    : ['', 'sequence', '']
  return `journalled as (
  insert into journal (writer, client_id, link_ids, sequences${column})
  select ${writer}::integer, (${clients}::text[])[part], link_ids, sequences${column} from (
    select width_bucket(ordinal, ${firsts}::bigint[]) as part, array_agg((${links}::uuid[])[ordinal] order by ordinal) as link_ids,
      array_agg(${sequence} order by ordinal) as sequences${holdIds}
    from operation group by part order by part
  ) as of_batch where (${clients}::text[])[part] is not null
)`
}

const holdIdsSql = `,
      case when bool_or(is_hold) then array_agg(case when is_hold then reference_key end order by ordinal) end as hold_ids`

/** Whether a batch has an entry to record. */
export function hasEvents(batch: readonly { readonly hasEvents?: boolean }[]): boolean {
  return batch.some((posting) => posting.hasEvents)
}

/** The rows of the journal need the postings of each app together. Most batches have one app. */
export function togetherByApp<T>(items: readonly T[], appOf: (item: T) => string | undefined): readonly T[] {
  const [first] = items
  if (first === undefined || items.every((item) => appOf(item) === appOf(first))) return items
  return [...Map.groupBy(items, appOf).values()].flat()
}

type Asked = { readonly by: JournalEntry | { readonly walletId: string }; readonly hasEvents?: boolean }

/** Of a posting without events. Its part of the batch has no app, and no row. */
const noLink = '0'.repeat(32)

/**
 * The link of each posting; where each part of the batch begins, and its app. A part is a row of the journal, so the postings of an app
 * follow each other. A column with the part of each posting, and links as text, would cost the database a microsecond a debit.
 */
export function fastJournalValues(
  postings: readonly Asked[],
  { hasHolds }: { readonly hasHolds: boolean },
): readonly (string | Buffer)[] {
  const mostPerRow = hasHolds ? maxWithHolds : maxEntriesPerRow
  const linkIds: string[] = []
  const beginnings: number[] = []
  const apps: (string | null)[] = []
  let left = 0
  for (const { by, hasEvents } of postings) {
    const linkId = hasEvents && 'serviceUserId' in by ? linkUuidOf(by.serviceUserId) : undefined
    const clientId = linkId !== undefined && 'serviceUserId' in by ? by.clientId : null
    const ordinal = linkIds.push(linkId ?? noLink)
    if (left === 0 || apps.at(-1) !== clientId) {
      beginnings.push(ordinal)
      apps.push(clientId)
      left = mostPerRow
    }
    left--
  }
  return [hexUuidArray(linkIds), plainArray(beginnings, (first) => first), textArray(apps, (clientId) => clientId)]
}

/** The link of an app and a user, or the last one after a disconnect: the app has its holds until they end. */
const lastLinkSql = `cross join lateral (select id from links where user_id = e.wallet_id and client_id = e.client_id
    order by disconnected_at desc nulls first limit 1) as l`

const holdsSql = `
  union all
  select ${linkUuidSql}, e.client_id, e.sequence, e.hold_id, e.ordinal
  from unnest($10::uuid[], $11::text[], $12::bigint[], $13::uuid[], $14::integer[]) as e(wallet_id, client_id, sequence, hold_id, ordinal)
  join apps a on a.client_id = e.client_id and a.has_events ${lastLinkSql} where ${hasUuidSql}`

/**
 * For the careful lane, whose transaction has locked the wallets. An entry of an app is reported to that app, a movement of the service
 * to each app with a live link to the wallet; one on an app's account only to that app. What happens to a hold is reported to its app.
 */
const entriesSqlOf = ({ hasHolds }: { readonly hasHolds: boolean }) => `
with entry as (
  select e.link_id, e.client_id, e.sequence, null::uuid as hold_id, e.ordinal
  from unnest($2::uuid[], $3::text[], $4::bigint[], $5::integer[]) as e(link_id, client_id, sequence, ordinal)
  union all
  select ${linkUuidSql}, l.client_id, e.sequence, null, e.ordinal
  from unnest($6::uuid[], $7::text[], $8::bigint[], $9::integer[]) as e(wallet_id, counter_account, sequence, ordinal)
  join links l on l.user_id = e.wallet_id and l.disconnected_at is null and ${hasUuidSql}
  join apps a on a.client_id = l.client_id and a.has_events
  where e.counter_account not like 'app:%' or e.counter_account = 'app:' || l.client_id${hasHolds ? holdsSql : ''}
)
insert into journal (writer, client_id, link_ids, sequences${hasHolds ? ', hold_ids' : ''})
select $1::integer, client_id, link_ids, sequences${hasHolds ? ', hold_ids' : ''} from (
  select client_id, array_agg(link_id order by ordinal) as link_ids, array_agg(sequence order by ordinal) as sequences,
    case when count(hold_id) > 0 then array_agg(hold_id order by ordinal) end as hold_ids
  from (select *, (row_number() over (partition by client_id order by ordinal) - 1) / ${maxWithHolds} as part from entry) as e
  group by client_id, part order by part
) as of_batch`

const entriesStatement = { name: 'journal-entries', text: entriesSqlOf({ hasHolds: false }) }
const holdsStatement = { name: 'journal-holds', text: entriesSqlOf({ hasHolds: true }) }

/** A posting that moved money, in the order of the batch. */
export type PostedEntry = {
  readonly posting: {
    readonly by: JournalEntry | { readonly walletId: string; readonly clientId?: string }
    readonly hasEvents?: boolean
    readonly counterAccount: string
  }
  readonly sequence: number
}

/** What happened to a hold: the number of its step, 0 when it was made. */
export type HoldEntry = {
  readonly walletId: string
  readonly clientId: string
  readonly holdId: string
  readonly number: number
}

type OfApp = { readonly linkId: string; readonly clientId: string }
type OfService = { readonly walletId: string; readonly counterAccount: string }
/** An entry of a capture, without a hold; or a step of a hold. */
type OfHold = { readonly walletId: string; readonly clientId: string; readonly holdId: string | null }
type Listed<T> = T & { readonly sequence: number; readonly ordinal: number }

/** Undefined when nothing can concern an app with events. */
export function journalEntries(
  db: Queryable,
  reported: readonly (PostedEntry | HoldEntry)[],
  writer: number,
): Promise<unknown> | undefined {
  const ofApps: Listed<OfApp>[] = []
  const ofService: Listed<OfService>[] = []
  const ofHolds: Listed<OfHold>[] = []
  for (const [ordinal, entry] of reported.entries()) {
    if ('holdId' in entry) {
      ofHolds.push({ ...entry, sequence: entry.number, ordinal })
      continue
    }
    const { by, hasEvents, counterAccount } = entry.posting
    const listed = { sequence: entry.sequence, ordinal }
    if (!('walletId' in by)) {
      const linkId = hasEvents ? linkUuidOf(by.serviceUserId) : undefined
      if (linkId !== undefined) ofApps.push({ ...listed, linkId, clientId: by.clientId })
    } else if (by.clientId === undefined) ofService.push({ ...listed, walletId: by.walletId, counterAccount })
    else if (hasEvents) ofHolds.push({ ...listed, walletId: by.walletId, clientId: by.clientId, holdId: null })
  }
  if (ofApps.length + ofService.length + ofHolds.length === 0) return undefined
  const values = [
    String(writer),
    plainArray(ofApps, ({ linkId }) => linkId),
    textArray(ofApps, ({ clientId }) => clientId),
    plainArray(ofApps, ({ sequence }) => sequence),
    plainArray(ofApps, ({ ordinal }) => ordinal),
    plainArray(ofService, ({ walletId }) => walletId),
    textArray(ofService, ({ counterAccount }) => counterAccount),
    plainArray(ofService, ({ sequence }) => sequence),
    plainArray(ofService, ({ ordinal }) => ordinal),
  ]
  if (ofHolds.length === 0) return db.query({ ...entriesStatement, values })
  const ofHoldValues = [
    plainArray(ofHolds, ({ walletId }) => walletId),
    textArray(ofHolds, ({ clientId }) => clientId),
    plainArray(ofHolds, ({ sequence }) => sequence),
    plainArray(ofHolds, ({ holdId }) => holdId),
    plainArray(ofHolds, ({ ordinal }) => ordinal),
  ]
  return db.query({ ...holdsStatement, values: [...values, ...ofHoldValues] })
}

const factSql = (links: string) => `insert into journal (writer, client_id, fact, link_ids, sequences, awaits_number)
  select $1::integer, l.client_id, $2, array[${linkUuidSql}], '{}', $1::integer = 0
  from links l join apps a on a.client_id = l.client_id and a.has_events where ${links} and ${hasUuidSql}`

/**
 * Reports a fact about a user to each app with a live link, in the caller's transaction. Call it after the locks on the rows that it is
 * about. A lane of the writer passes its number.
 */
export async function journalUserFact(db: Queryable, fact: Fact, userId: string, writer = 0): Promise<void> {
  await db.query(factSql('l.user_id = $3 and l.disconnected_at is null'), [writer, fact, userId])
}

/** The same about one link, live or not. */
export async function journalLinkFact(db: Queryable, fact: Fact, linkId: string): Promise<void> {
  await db.query(factSql('l.id = $3'), [0, fact, linkId])
}

/** A fact about the app itself, which must have events on. */
export async function journalPing(db: Queryable, clientId: string): Promise<void> {
  await db.query(
    `insert into journal (writer, client_id, fact, link_ids, sequences, awaits_number) values (0, $1, 'test.ping', '{null}', '{}', true)`,
    [clientId],
  )
}

/** After an import: the serials continue above those of the copy, because the numbers of rows below a cursor were given. */
export async function continueSerials(db: Queryable): Promise<void> {
  await db.query(
    `select setval(pg_get_serial_sequence('journal', 'serial'), greatest(1, (select max(serial) from journal), (select max(numbered_up_to) from event_cursors)))`,
  )
}
