/**
 * Exports all data about a user as one JSON document. It is streamed, so only a page of a long wallet is in memory, and contains
 * the entries up to the newest one at its start.
 */
import { aboveArchive, findArchiveEnd } from '../../store/closing/archived-entries.ts'
import { viewHold } from '../../ledger/hold.ts'
import { majorNumber } from '../../ledger/money.ts'
import { listAuditOf } from '../../store/audit.ts'
import { findMailReader } from '../../store/mails.ts'
import { transactionIdOf } from '../../store/outcomes.ts'
import { transact } from '../../store/connection/database.ts'
import { listUserAddresses } from '../../store/people/addresses.ts'
import { listDevices } from '../../store/people/devices.ts'
import { listHoldsWithSteps } from '../../store/people/user-holds.ts'
import { listAllLinks } from '../../store/people/user-search.ts'
import { findLiveUser, type LiveUser } from '../../store/people/users.ts'
import { listSessionsOfUser } from '../../store/people/widget-sessions.ts'
import { listTopups, type Topup } from '../../store/topups.ts'
import { listTransfersUpwards } from '../../store/transfers.ts'
import { findWallet, type Transfer } from '../../store/wallets.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { browserName } from '../browser-name.ts'
import { personRequests, takeLimit, type Limited } from '../limits.ts'
import { notify, sendSoon } from '../mails/notify.ts'
import { toHold } from '../money/hold-body.ts'
import { personOf } from '../operators/independence.ts'
import type { Service } from '../service.ts'
import { newId } from '../tokens.ts'
import { accountActions } from './read-history.ts'
import type { Acting } from './trust-device.ts'

const pageSize = 500
/** Each comes with its steps. */
const holdPageSize = 100

/** Undefined when the user has just been deleted. The audit record and the mail come before the first byte. */
export async function exportData(
  service: Service,
  userId: string,
  { address, userAgent, lang }: Acting,
): Promise<AsyncGenerator<string> | undefined> {
  const user = await findLiveUser(service.db.pool, userId)
  if (!user) return undefined
  await transact(service.db, async (tx) => {
    await recordAudit(tx, { name: `user:${userId}`, address }, 'user.data-exported', `user:${userId}`)
    const notification = {
      kind: 'data-exported',
      at: service.now().toISOString(),
      browser: browserName(userAgent),
    } as const
    await notify(tx, userId, notification, { id: newId(), lang })
  })
  sendSoon(service)
  return writeData(service, user)
}

export type ExportedFor =
  | { readonly kind: 'data'; readonly chunks: AsyncGenerator<string> }
  | { readonly kind: 'gone' }
  | Limited

/** The same file, made by an operator for a user who asked by another way. The user is mailed that it was made. */
export async function exportDataFor(
  service: Service,
  actor: Actor,
  { userId, reason }: { userId: string; reason: string },
): Promise<ExportedFor> {
  const limited = await takeLimit(service, personRequests, personOf(actor.name))
  if (limited) return limited
  const user = await findLiveUser(service.db.pool, userId)
  if (!user) return { kind: 'gone' }
  await transact(service.db, async (tx) => {
    await recordAudit(tx, actor, 'user.data-exported', `user:${userId}`, { reason })
    const notification = { kind: 'data-exported-for', at: service.now().toISOString() } as const
    await notify(tx, userId, notification, { id: newId() })
  })
  sendSoon(service)
  return { kind: 'data', chunks: writeData(service, user) }
}

async function* writeData(service: Service, user: LiveUser): AsyncGenerator<string> {
  const { pool } = service.db
  const { currency } = service.config
  const { id: userId, email, firstName, lastName, language, createdAt } = user
  const wallet = (await findWallet(pool, userId))!
  const names = new Map((await service.apps.list()).map((app) => [app.clientId, app.name]))
  const mails = await findMailReader(pool, userId)
  const head = {
    format: 'billfold-user-data',
    version: 1,
    createdAt: service.now(),
    account: { userId, email, firstName, lastName, language, createdAt },
    wallet: {
      balance: majorNumber(wallet.balanceMinor, currency),
      available: majorNumber(wallet.balanceMinor - wallet.heldMinor, currency),
      held: majorNumber(wallet.heldMinor, currency),
      currency: currency.code,
      isActive: wallet.frozenFor === null,
    },
    mails: { stopped: mails?.stopped ?? [], pageLanguage: mails?.pageLanguage ?? null },
    apps: (await listAllLinks(pool, userId)).map(({ clientId, createdAt: connectedAt, disconnectedAt }) => ({
      clientId,
      name: names.get(clientId) ?? clientId,
      connectedAt,
      disconnectedAt,
    })),
    sessions: await listSessionsOfUser(pool, userId),
    devices: (await listDevices(pool, userId)).map(
      ({ clientId, browser, createdAt: since, lastUsedAt, expiresAt }) => ({
        clientId,
        browser,
        since,
        lastUsedAt,
        expiresAt,
      }),
    ),
    networks: await listUserAddresses(pool, userId),
  }
  yield JSON.stringify(head).slice(0, -1)
  yield* writeList('topups', pagesOfTopups(service, userId), (topup) => ({
    id: topup.id,
    app: names.get(topup.clientId) ?? topup.clientId,
    processor: topup.processor,
    paymentIntentId: topup.paymentIntentId,
    amount: majorNumber(topup.amountMinor, currency),
    currency: topup.currency,
    state: topup.state,
    dispute: topup.dispute,
    declineCode: topup.declineCode,
    createdAt: topup.createdAt,
  }))
  yield* writeList('history', pagesOfHistory(service, userId), ({ at, actor, action, address, detail }) => ({
    at,
    action,
    by: actor === `user:${userId}` ? 'you' : 'service',
    // An operator's address and reason are not the user's data.
    ...(actor === `user:${userId}` && { address, detail }),
  }))
  yield* writeList('holds', pagesOfHolds(service, userId), ({ hold: stored, at, steps }) => {
    const { id, currency: _, ...others } = toHold(viewHold(stored, at), currency)
    return {
      id,
      with: names.get(stored.clientId) ?? stored.clientId,
      ...others,
      steps: steps.map(({ kind, amountMinor, sequence, actor, at: doneAt }) => ({
        kind,
        amount: majorNumber(amountMinor, currency),
        sequence,
        // An operator's name and reason are not the user's data.
        by: actor.startsWith('app:') ? nameOfAccount(actor, names) : 'service',
        at: doneAt,
      })),
    }
  })
  const archived = await findArchiveEnd(service.db.pool, userId)
  // They are in the files of the service: an operator can bring them back.
  if (archived) yield `,"archivedTransactions":${archived.sequence}`
  yield* writeList('transactions', pagesOfEntries(service, userId, wallet.sequence), (entry) => ({
    id: transactionIdOf(entry.referenceKey),
    sequence: entry.sequence,
    amount: majorNumber(entry.amountMinor, currency),
    balanceAfter: majorNumber(entry.balanceAfterMinor, currency),
    with: nameOfAccount(entry.counterAccount, names),
    referenceType: entry.referenceType,
    referenceId: entry.referenceId,
    description: entry.description,
    createdAt: entry.createdAt,
  }))
  yield '}\n'
}

async function* writeList<T>(
  name: string,
  pages: AsyncIterable<readonly T[]>,
  toItem: (item: T) => object,
): AsyncGenerator<string> {
  yield `,${JSON.stringify(name)}:[`
  let isFirst = true
  for await (const page of pages) {
    const text = page.map((item) => JSON.stringify(toItem(item))).join(',')
    if (text !== '') yield isFirst ? text : `,${text}`
    isFirst &&= text === ''
  }
  yield ']'
}

async function* pagesOfTopups({ db }: Service, userId: string): AsyncGenerator<Topup[]> {
  let after: Topup | undefined
  for (;;) {
    const page = await listTopups(db.pool, { userId }, { after, limit: pageSize })
    yield page
    after = page.at(-1)
    if (page.length < pageSize) return
  }
}

async function* pagesOfHistory({ db }: Service, userId: string) {
  let before: string | undefined
  for (;;) {
    const subjects = [`user:${userId}`, `wallet:${userId}`] as const
    const page = await listAuditOf(db.pool, subjects, { actions: accountActions, before, limit: pageSize })
    yield page
    before = page.at(-1)?.id
    if (page.length < pageSize) return
  }
}

async function* pagesOfHolds({ db }: Service, userId: string) {
  let after: string | undefined
  for (;;) {
    const page = await listHoldsWithSteps(db.pool, userId, { after, limit: holdPageSize })
    yield page
    after = page.at(-1)?.hold.id
    if (page.length < holdPageSize) return
  }
}

async function* pagesOfEntries({ db }: Service, userId: string, last: number): AsyncGenerator<Transfer[]> {
  for (let { bottom: from } = await aboveArchive(db.pool, userId, 1); from <= last; from += pageSize) {
    const to = Math.min(last, from + pageSize - 1)
    yield await listTransfersUpwards(db.pool, userId, { from, to, limit: pageSize })
  }
}

function nameOfAccount(account: string, names: ReadonlyMap<string, string>): string {
  const clientId = account.startsWith('app:') ? account.slice('app:'.length) : undefined
  return clientId === undefined ? account : (names.get(clientId) ?? clientId)
}
