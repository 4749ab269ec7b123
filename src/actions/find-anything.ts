/** Search of the admin area: one text, matched against people, ledger entries, card top-ups and apps. Every query uses a key. */
import { parseDecimal, type Currency } from '../ledger/money.ts'
import { parseReceiptCode } from '../ledger/receipt-code.ts'
import { isLabel, maxReferenceIdLength, serviceNamespace } from '../ledger/reference.ts'
import type { App } from '../store/apps.ts'
import { findPerson, listPeople, searchPeople, type Person } from '../store/people/user-search.ts'
import { findTopup, findTopupByPayment, listTopupsOfAmount, type Topup } from '../store/topups.ts'
import { findTransfersOfAmount, listTransfersByKeys } from '../store/transfers.ts'
import type { Transfer } from '../store/wallets.ts'
import { findByReferenceId, type NamedUse } from './money/inspect-reference.ts'
import type { Service } from './service.ts'
import { isUuid } from './tokens.ts'

/** The first use of a reference: its outcome and its owner. */
export type FoundUse = Pick<
  NamedUse,
  'walletId' | 'amountMinor' | 'at' | 'refusal' | 'namespace' | 'referenceType' | 'referenceId' | 'referenceKey'
>

export type Found = {
  /** The user whose id, serviceUserId or email equals the text. */
  readonly exactly: Person | undefined
  /** Users whose email or name begins with the text. */
  readonly people: readonly Person[]
  readonly hasMorePeople: boolean
  readonly uses: readonly FoundUse[]
  readonly hasMoreUses: boolean
  readonly topups: readonly Topup[]
  readonly apps: readonly App[]
  /** The parsed text, if it is an amount on a day. `isWhole` is false when the search of the day ran out of time. */
  readonly amount: (AmountOnDay & { readonly isWhole: boolean }) | undefined
  /** The users of the uses and top-ups, by id. */
  readonly owners: ReadonlyMap<string, Person>
}

/** Results of each kind. */
export const maxFound = 25

export async function findAnything(service: Service, text: string): Promise<Found> {
  const amount = parseAmountOnDay(text, service.config.currency, service.now())
  const [exactly, people, uses, topups, apps, day] = await Promise.all([
    findExactly(service, text),
    isId(text) || amount
      ? []
      : searchPeople(service.db.pool, text.normalize('NFC'), { after: undefined, limit: maxFound + 1 }),
    // Neither an amount on a day nor a serviceUserId is a reference id, and a search by reference id costs one key per type in use.
    amount || text.startsWith('su_') ? [] : findUses(service, text),
    findTopups(service, text),
    findApps(service, text),
    amount && findDay(service, amount),
  ])
  const allUses = [...uses, ...(day?.uses ?? [])]
  const allTopups = [...topups, ...(day?.topups ?? [])]
  const owners = [...new Set([...allUses.map((use) => use.walletId), ...allTopups.map((topup) => topup.userId)])]
  return {
    exactly,
    people: people
      .map(({ person }) => person)
      .filter(({ id }) => id !== exactly?.id)
      .slice(0, maxFound),
    hasMorePeople: people.length > maxFound,
    uses: allUses.slice(0, maxFound),
    hasMoreUses: allUses.length > maxFound,
    topups: allTopups,
    apps,
    amount: amount && { ...amount, isWhole: day!.isWhole },
    owners: new Map((await listPeople(service.db.pool, owners)).map((person) => [person.id, person])),
  }
}

/** Our ids and the processor's have a prefix that no name or email has. */
function isId(text: string): boolean {
  return /^(su|txn|pi|app)_\w+$/.test(text) || isUuid(text.toLowerCase())
}

async function findExactly({ db }: Service, text: string): Promise<Person | undefined> {
  if (text.startsWith('su_')) return await findPerson(db.pool, { serviceUserId: text })
  if (isUuid(text.toLowerCase())) return await findPerson(db.pool, { id: text.toLowerCase() })
  return text.includes('@') ? await findPerson(db.pool, { email: text.normalize('NFC') }) : undefined
}

async function findUses(service: Service, text: string): Promise<FoundUse[]> {
  const { pool } = service.db
  const key = /^txn_([0-9a-f]{32})$/.exec(text.toLowerCase())?.[1]
  if (key) return (await listTransfersByKeys(pool, { from: key, to: key })).map(toUse)
  const keys = parseReceiptCode(text)
  const [byCode, byId] = await Promise.all([
    keys ? listTransfersByKeys(pool, keys) : [],
    isLabel(text, maxReferenceIdLength) ? findByReferenceId(service, text) : [],
  ])
  return [...byCode.map(toUse), ...byId]
}

function toUse({ walletId, amountMinor, createdAt, counterAccount, ...rest }: Transfer): FoundUse {
  const { referenceType, referenceId, referenceKey } = rest
  const namespace = counterAccount.startsWith('app:') ? counterAccount : serviceNamespace
  return { walletId, amountMinor, at: createdAt, refusal: null, namespace, referenceType, referenceId, referenceKey }
}

async function findTopups({ db }: Service, text: string): Promise<Topup[]> {
  const found = isUuid(text.toLowerCase())
    ? await findTopup(db.pool, text.toLowerCase())
    : /^\w{3,255}$/.test(text)
      ? await findTopupByPayment(db.pool, text)
      : undefined
  return found ? [found] : []
}

async function findApps({ apps }: Service, text: string): Promise<App[]> {
  const wanted = text.toLowerCase()
  const all = await apps.list()
  return all.filter(({ clientId, name }) => clientId === text || name.toLowerCase().includes(wanted)).slice(0, maxFound)
}

async function findDay(service: Service, { day, amountMinor, sign }: AmountOnDay) {
  const from = new Date(`${day}T00:00:00Z`)
  const span = { from, until: new Date(from.getTime() + 86_400_000), limit: maxFound + 1 }
  const amountsMinor = [...(sign === '-' ? [] : [amountMinor]), ...(sign === '+' ? [] : [-amountMinor])]
  const [entries, topups] = await Promise.all([
    findTransfersOfAmount(service.db, { ...span, amountsMinor }),
    sign === '-' ? [] : listTopupsOfAmount(service.db.pool, { ...span, amountMinor, limit: maxFound }),
  ])
  const uses = (entries ?? []).map(toUse).sort((a, b) => b.at.getTime() - a.at.getTime())
  return { uses, topups, isWhole: entries !== undefined }
}

/* An amount on a day: `19.99 2026-11-14`. */

export type AmountOnDay = {
  /** In UTC, like the books. */
  readonly day: string
  readonly amountMinor: bigint
  /** `-` selects debits, `+` credits, an empty sign both. */
  readonly sign: '' | '+' | '-'
}

/** Accepts either order, a currency sign or code, commas between thousands, and `today` or `yesterday` as the day. */
export function parseAmountOnDay(text: string, currency: Currency, now: Date): AmountOnDay | undefined {
  const words = text.trim().split(/\s+/)
  const days = words.map((word) => toDay(word, now))
  const at = days.findIndex((day) => day !== undefined)
  const rest = words.filter((word, i) => i !== at && word.toUpperCase() !== currency.code)
  const [, sign = '', digits] = /^([+\-−]?)[^\d\s.,+-]{0,3}(\d[\d,]*(?:\.\d+)?)$/u.exec(rest[0] ?? '') ?? []
  if (at < 0 || rest.length !== 1 || digits === undefined) return undefined
  if (digits.includes(',') && !/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(digits)) return undefined
  const amountMinor = parseDecimal(digits.replaceAll(',', ''), currency)
  if (!amountMinor) return undefined
  return { day: days[at]!, amountMinor, sign: sign === '' || sign === '+' ? sign : '-' }
}

function toDay(word: string, now: Date): string | undefined {
  const daysAgo = { today: 0, yesterday: 1 }[word.toLowerCase()]
  if (daysAgo !== undefined) return new Date(now.getTime() - daysAgo * 86_400_000).toISOString().slice(0, 10)
  const at = /^20\d\d-\d\d-\d\d$/.test(word) ? new Date(`${word}T00:00:00Z`) : undefined
  // Date parses a day that does not exist, such as 2026-02-31, as a day of the next month.
  return at && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(word) ? word : undefined
}
