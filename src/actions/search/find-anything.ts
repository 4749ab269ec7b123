/**
 * Search of the admin area: one text, matched against everything that has an id, a name or a reference. Most kinds are found by a key;
 * the two that are not are scanned for one second, newest first. A kind that does not answer in time does not hold up the others.
 */
import { findArchived, findArchivedUntil, type Archived } from '../../store/closing/archived-entries.ts'
import { inTime, isTimedOut } from '../../platform/in-time.ts'
import { parseReceiptCode, type KeyRange } from '../../ledger/receipt-code.ts'
import { isLabel, maxReferenceIdLength, serviceNamespace } from '../../ledger/reference.ts'
import type { App, AppSecret } from '../../store/apps.ts'
import { findSettlement, searchSettlements, type Settlement } from '../../store/books/settlements.ts'
import { sqlState } from '../../store/connection/database.ts'
import { findDeletion, type RequestedDeletion } from '../../store/people/deletions.ts'
import { findCorrection, type Correction } from '../../store/corrections.ts'
import { findChange } from '../../store/operator-access/operator-changes.ts'
import { listHoldsByIds } from '../../store/books/hold-lists.ts'
import { parseHoldId, parseTransactionId } from '../../store/outcomes.ts'
import { searchInvites, type Invite } from '../../store/operator-access/operator-invites.ts'
import { searchOperators, type Operator } from '../../store/operators.ts'
import { findNote, type ListedNote } from '../../store/people/notes.ts'
import {
  findPerson,
  listPeople,
  scanEmails,
  searchPeople,
  type EmailScan,
  type Person,
} from '../../store/people/user-search.ts'
import { findTopup, findTopupByPayment, listTopupsOfAmount, type Topup } from '../../store/topups.ts'
import {
  findTransfersOfAmount,
  listTransfersByKeys,
  scanTransfersOfAmount,
  type AmountScan,
} from '../../store/transfers.ts'
import type { Transfer } from '../../store/wallets.ts'
import type { SeenHold } from '../../store/writer/stored-holds.ts'
import { findByReferenceId, findHoldsByReferenceId, type NamedUse } from '../money/inspect-reference.ts'
import type { Service } from '../service.ts'
import { fingerprintOf, isUuid } from '../tokens.ts'
import * as typed from './search-text.ts'

/** The first use of a reference: its outcome and its owner. */
export type FoundUse = Pick<
  NamedUse,
  'walletId' | 'amountMinor' | 'at' | 'refusal' | 'namespace' | 'referenceType' | 'referenceId' | 'referenceKey'
>

export type FoundSecret = { readonly app: App; readonly secret: AppSecret }

export const searchKinds = [
  'users',
  'emails',
  'entries',
  'holds',
  'topups',
  'days',
  'amounts',
  'corrections',
  'payouts',
  'apps',
  'secrets',
  'operators',
  'notes',
  'deletions',
  'requests',
] as const
export type SearchKind = (typeof searchKinds)[number]

/** `skipped`: the text cannot be one of this kind. `late`: there was no answer in time. */
export type SearchState = 'searched' | 'skipped' | 'late'

type Keyed = {
  /** The user whose id, serviceUserId or email equals the text. */
  readonly exactly: Person | undefined
  /** Users whose email or name begins with the text. */
  readonly people: readonly Person[]
  readonly uses: readonly FoundUse[]
  /** The archived entry of a transactionId or a receipt code. */
  readonly archived: readonly Archived[]
  readonly holds: readonly SeenHold[]
  readonly topups: readonly Topup[]
  readonly apps: readonly App[]
  readonly secrets: readonly FoundSecret[]
  readonly corrections: readonly Correction[]
  readonly payouts: readonly Settlement[]
  readonly operators: readonly Operator[]
  readonly invites: readonly Invite[]
  /** Whether the text is the id of a change of operators that waits or was decided. */
  readonly hasChange: boolean
  readonly notes: readonly ListedNote[]
  readonly deletions: readonly RequestedDeletion[]
}

export type Found = Keyed & {
  readonly hasMorePeople: boolean
  readonly hasMoreUses: boolean
  /** Users whose email contains the text; undefined when that was not searched. */
  readonly emails: EmailScan | undefined
  /** The parsed text, if it is an amount on a day. `isWhole` is false when the search of the day ran out of time; the archive may have the day. */
  readonly amount: (typed.AmountOnDay & { readonly isWhole: boolean; readonly isArchived: boolean }) | undefined
  /** The parsed text, if it is an amount alone. `from`: see AmountScan. */
  readonly anyDay: (typed.Signed & Pick<AmountScan, 'from' | 'archivedUntil'>) | 'unclear' | undefined
  readonly states: Readonly<Record<SearchKind, SearchState>>
  /** The users of the uses, holds, top-ups, corrections, notes and deletions, by id. */
  readonly owners: ReadonlyMap<string, Person>
}

/** Results of each kind. */
export const maxFound = 25

/** How long a kind that is not found by a key is searched for. */
const scanMs = 1_000
/** How long the page waits for a kind. What it asked the database goes on, up to the limits of the pool. */
const kindWithinMs = 2_000

/** `isEnough` decides from what was found by keys whether the scans can be left out. */
export async function findAnything(
  service: Service,
  text: string,
  isEnough: (found: Keyed & Pick<Found, 'states'>) => boolean = () => false,
): Promise<Found> {
  const states = Object.fromEntries(searchKinds.map((kind) => [kind, 'skipped'])) as Record<SearchKind, SearchState>
  const search = openSearching(states)
  const amount = typed.parseAmountOnDay(text, service.config.currency, service.now())
  const [keyed, day] = await Promise.all([
    findByKeys(service, search, text, amount !== undefined),
    amount &&
      search('days', () => findDay(service, amount), { uses: [], topups: [], isWhole: false, isArchived: false }),
  ])
  if (typed.isRequestId(text)) states.requests = 'searched'
  const isScanned = !amount && !isEnough({ ...keyed, states })
  const [emails, anyDay] = isScanned ? await scan(service, search, text) : []
  const byKey = new Map(
    [...keyed.uses, ...(day?.uses ?? []), ...(anyDay?.uses ?? [])].map((use) => [use.referenceKey, use]),
  )
  const uses = [...byKey.values()]
  const topups = [...keyed.topups, ...(day?.topups ?? [])]
  const people = keyed.people.filter(({ id }) => id !== keyed.exactly?.id)
  const ids = [...uses, ...keyed.archived, ...keyed.corrections, ...keyed.holds.map(({ hold }) => hold)].map(
    ({ walletId }) => walletId,
  )
  const owners = new Set([...ids, ...[...topups, ...keyed.notes, ...keyed.deletions].map(({ userId }) => userId)])
  return {
    ...keyed,
    people: people.slice(0, maxFound),
    hasMorePeople: people.length > maxFound,
    emails: emails && withoutKnown(emails, [...(keyed.exactly ? [keyed.exactly] : []), ...people]),
    uses: uses.slice(0, maxFound),
    hasMoreUses: uses.length > maxFound,
    topups,
    amount: amount && { ...amount, isWhole: day!.isWhole, isArchived: day!.isArchived },
    anyDay: anyDay?.asked,
    states,
    owners: new Map((await listPeople(service.db.pool, [...owners])).map((person) => [person.id, person])),
  }
}

type Searching = <T>(kind: SearchKind, work: () => Promise<T>, none: T) => Promise<T>

/** Notes what was searched. Faults other than a lack of time fail the page. */
function openSearching(states: Record<SearchKind, SearchState>): Searching {
  return async (kind, work, none) => {
    if (states[kind] === 'skipped') states[kind] = 'searched'
    try {
      return await inTime(work(), kindWithinMs)
    } catch (error) {
      // 57014: cancelled by statement_timeout.
      if (!isTimedOut(error) && sqlState(error) !== '57014') throw error
      states[kind] = 'late'
      return none
    }
  }
}

async function findByKeys(service: Service, search: Searching, text: string, isDay: boolean): Promise<Keyed> {
  const db = service.db.pool
  const id = isUuid(text.toLowerCase()) ? text.toLowerCase() : undefined
  const none: [] = []
  const [person, people, uses, archived, holds, topups, apps, secrets, corrections, payouts, access, notes, deletions] =
    await Promise.all([
      search('users', () => findExactly(service, text), undefined),
      typed.isId(text) || isDay ? none : search('users', () => findPeople(service, text), none),
      // Neither an amount on a day nor a serviceUserId is a reference id, and a search by reference id costs one key per type in use.
      isDay || text.startsWith('su_') ? none : search('entries', () => findUses(service, text), none),
      keysOf(text) ? search('entries', async () => toList(await findArchived(db, keysOf(text)!)), none) : none,
      isDay || text.startsWith('su_') ? none : search('holds', () => findHolds(service, text), none),
      /^[\w-]{3,255}$/.test(text) ? search('topups', () => findTopups(service, text), none) : none,
      search('apps', () => findApps(service, text), none),
      id || typed.parseFingerprint(text) ? search('secrets', () => findSecrets(service, text), none) : none,
      id ? search('corrections', async () => toList(await findCorrection(db, id)), none) : none,
      search(
        'payouts',
        async () => (id ? toList(await findSettlement(db, id)) : await findPayouts(service, text)),
        none,
      ),
      search('operators', () => findAccess(service, text, id), { operators: none, invites: none, hasChange: false }),
      id ? search('notes', async () => toList(await findNote(db, id)), none) : none,
      id ? search('deletions', async () => toList(await findDeletion(db, id)), none) : none,
    ])
  return {
    exactly: person,
    people,
    uses,
    archived,
    holds,
    topups,
    apps,
    secrets,
    corrections,
    payouts,
    ...access,
    notes,
    deletions,
  }
}

function toList<T>(found: T | undefined): T[] {
  return found === undefined ? [] : [found]
}

async function findExactly({ db }: Service, text: string): Promise<Person | undefined> {
  if (text.startsWith('su_')) return await findPerson(db.pool, { serviceUserId: text })
  if (isUuid(text.toLowerCase())) return await findPerson(db.pool, { id: text.toLowerCase() })
  return text.includes('@') ? await findPerson(db.pool, { email: text.normalize('NFC') }) : undefined
}

async function findPeople({ db }: Service, text: string): Promise<Person[]> {
  // One more than shown, and one that may be the exact match.
  const page = { after: undefined, limit: maxFound + 2 }
  return (await searchPeople(db.pool, text.normalize('NFC'), page)).map(({ person }) => person)
}

/** Of a transactionId or a receipt code. */
function keysOf(text: string): KeyRange | undefined {
  const key = parseTransactionId(text.toLowerCase())
  return key ? { from: key, to: key } : parseReceiptCode(text)
}

async function findUses(service: Service, text: string): Promise<FoundUse[]> {
  const { pool } = service.db
  const keys = keysOf(text)
  const [byCode, byId] = await Promise.all([
    keys ? listTransfersByKeys(pool, keys) : [],
    !text.startsWith('txn_') && isLabel(text, maxReferenceIdLength) ? findByReferenceId(service, text) : [],
  ])
  return [...byCode.map(toUse), ...byId]
}

async function findHolds(service: Service, text: string): Promise<SeenHold[]> {
  const id = parseHoldId(text.toLowerCase())
  if (id) return await listHoldsByIds(service.db.pool, [id], 1)
  return isLabel(text, maxReferenceIdLength) ? await findHoldsByReferenceId(service, text, maxFound) : []
}

function toUse({ walletId, amountMinor, createdAt, counterAccount, ...rest }: Transfer): FoundUse {
  const { referenceType, referenceId, referenceKey } = rest
  const namespace = counterAccount.startsWith('app:') ? counterAccount : serviceNamespace
  return { walletId, amountMinor, at: createdAt, refusal: null, namespace, referenceType, referenceId, referenceKey }
}

async function findTopups({ db }: Service, text: string): Promise<Topup[]> {
  if (isUuid(text.toLowerCase())) return toList(await findTopup(db.pool, text.toLowerCase()))
  return toList(await findTopupByPayment(db.pool, text))
}

async function findApps({ apps }: Service, text: string): Promise<App[]> {
  const wanted = text.toLowerCase()
  const all = await apps.list()
  return all.filter(({ clientId, name }) => clientId === text || name.toLowerCase().includes(wanted)).slice(0, maxFound)
}

/** By the complete id or the fingerprint, which several secrets may share. */
async function findSecrets({ apps }: Service, text: string): Promise<FoundSecret[]> {
  const fingerprint = typed.parseFingerprint(text)
  const all = (await apps.list()).flatMap((app) => app.secrets.map((secret) => ({ app, secret })))
  const isWanted = ({ id, hash }: AppSecret) => id === text.toLowerCase() || fingerprintOf(hash) === fingerprint
  return all.filter(({ secret }) => isWanted(secret)).slice(0, maxFound)
}

async function findPayouts({ db }: Service, text: string): Promise<Settlement[]> {
  return await searchSettlements(db.pool, text, maxFound)
}

async function findAccess({ db }: Service, text: string, id: string | undefined) {
  const [operators, invites, change] = await Promise.all([
    searchOperators(db.pool, text, maxFound),
    searchInvites(db.pool, text, maxFound),
    id ? findChange(db.pool, id) : undefined,
  ])
  return { operators, invites, hasChange: change !== undefined }
}

async function findDay(service: Service, asked: typed.AmountOnDay) {
  const from = new Date(`${asked.day}T00:00:00Z`)
  const span = { from, until: new Date(from.getTime() + 86_400_000), limit: maxFound + 1 }
  const { amountMinor, sign } = asked
  const [archivedUntil, entries, topups] = await Promise.all([
    findArchivedUntil(service.db.pool),
    findTransfersOfAmount(service.db, { ...span, amountsMinor: typed.amountsOf(asked) }),
    sign === '-' ? [] : listTopupsOfAmount(service.db.pool, { ...span, amountMinor, limit: maxFound }),
  ])
  const found = (entries ?? []).toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
  const isArchived = archivedUntil !== null && archivedUntil > from
  return { uses: found.map(toUse), topups, isWhole: entries !== undefined, isArchived }
}

/** What no key finds. */
async function scan(service: Service, search: Searching, text: string) {
  const amount = typed.parseAmount(text, service.config.currency)
  const none: EmailScan = { people: [], scanned: 0, isWhole: false }
  return await Promise.all([
    typed.isPartOfEmail(text)
      ? search('emails', () => scanEmails(service.db, text, { limit: maxFound, budgetMs: scanMs }), none)
      : undefined,
    amount && search('amounts', () => findAnyDay(service, amount), undefined),
  ])
}

async function findAnyDay(service: Service, asked: typed.Signed | 'unclear') {
  if (asked === 'unclear') return { uses: [], asked }
  const { entries, from, archivedUntil } = await scanTransfersOfAmount(service.db, {
    amountsMinor: typed.amountsOf(asked),
    now: service.now(),
    limit: maxFound + 1,
    budgetMs: scanMs,
  })
  return { uses: entries.map(toUse), asked: { ...asked, from, archivedUntil } }
}

function withoutKnown({ people, ...scan }: EmailScan, known: readonly Person[]): EmailScan {
  return { ...scan, people: people.filter(({ id }) => !known.some((person) => person.id === id)) }
}
