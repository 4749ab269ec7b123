/** The careful batch: lock and read its wallets, decide one posting after the other, write. */
import type { Wallet } from '../../ledger/decide.ts'
import { decideInTurn, type Step } from '../../ledger/plan.ts'
import { beginBatch, roundTrip, walletClockSql } from '../cluster/batch.ts'
import { plainArray, textArray } from '../connection/arrays.ts'
import { commit, type Queryable } from '../connection/database.ts'
import { journalEntries, journalUserFact } from '../events/journal.ts'
import { findOutcomes, type Outcome } from '../outcomes.ts'
import { confirmSql } from './connection.ts'
import { ledgerRowsSql } from './ledger-rows.ts'
import { resolveLinks, type ResolvedLink } from './resolve-links.ts'
import { asReplay, type PendingPosting, type PostingResult } from './posting.ts'
import { maybe } from '../connection/rows.ts'

export type CarefulAnswers = {
  readonly answers: readonly (readonly [PendingPosting, PostingResult])[]
  /** Postings of wallets that another transaction has locked. */
  readonly held: readonly PendingPosting[]
}

/**
 * One transaction. Wallet rows are locked one by one, in the order of their ids. With `isPatient` it waits for a row that
 * another transaction has locked, up to the connection's lock_timeout; otherwise it skips the row and returns its
 * postings as held. When this throws, nothing was written, unless the connection broke during the commit.
 */
export async function postLocked(
  client: Queryable,
  batch: readonly PendingPosting[],
  { isPatient, writer }: { readonly isPatient: boolean; readonly writer: number },
): Promise<CarefulAnswers> {
  try {
    const [, links] = await roundTrip([beginBatch(client), resolveLinks(client, batch)])
    const [wallets, outcomes] = await lock(client, batch, links, isPatient)
    const before = new Map(wallets)
    const { answers, held, planned } = decideEach(batch, links, wallets, outcomes)
    const toWrite = planned.filter(({ step }) => !isUnrecorded(step))
    // Answers that were only read also need a commit that the synchronous standby, if there is one, has received.
    const writing = toWrite.length > 0 ? write(client, toWrite, writer) : client.query(confirmSql)
    await roundTrip([writing, ...journal(client, toWrite, before, writer), commit(client)])
    return { answers, held }
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

const lockSql = `select balance, sequence, frozen_for from wallets where id = $1::uuid for update`

/** Locks and reads the wallets, and reads the recorded outcomes. Outcomes are read after the locks, so both belong to one state. */
async function lock(
  client: Queryable,
  batch: readonly PendingPosting[],
  links: readonly (ResolvedLink | undefined)[],
  isPatient: boolean,
): Promise<[Map<string, Wallet>, Map<string, Outcome>]> {
  const ids = [...new Set(links.flatMap((link) => (link?.isReachable ? [link.walletId] : [])))].sort()
  const locking = isPatient
    ? { name: 'lock-wallet', text: lockSql }
    : { name: 'lock-free-wallet', text: `${lockSql} skip locked` }
  // One round trip: the connection is in pipeline mode, and the server runs the queries in order.
  const locks = ids.map((id) =>
    client.query<[bigint, bigint, Wallet['frozenFor']]>({ ...locking, values: [id], rowMode: 'array' }),
  )
  const reading = findOutcomes(
    client,
    plainArray(batch, (posting) => posting.referenceKey),
  )
  const [outcomes, locked] = await Promise.all([reading, Promise.all(locks)])
  const wallets = new Map<string, Wallet>()
  locked.forEach(({ rows }, i) => {
    const row = maybe(rows)
    if (row) wallets.set(ids[i]!, { balanceMinor: row[0], sequence: Number(row[1]), frozenFor: row[2] })
  })
  return [wallets, outcomes]
}

/**
 * Decides one posting after the other, in the order of the batch. A repeat gets the outcome of the first use, which may be in this
 * batch too: both are committed together. `wallets` and `outcomes` are brought up to date with each decision.
 */
function decideEach(
  batch: readonly PendingPosting[],
  links: readonly (ResolvedLink | undefined)[],
  wallets: Map<string, Wallet>,
  outcomes: Map<string, Outcome>,
) {
  const answers: [PendingPosting, PostingResult][] = []
  const held: PendingPosting[] = []
  const planned: Planned[] = []
  for (const [i, posting] of batch.entries()) {
    const link = links[i]
    const outcome = outcomes.get(posting.referenceKey)
    const wallet = link && wallets.get(link.walletId)
    if (outcome) answers.push([posting, asReplay(outcome, posting, link?.walletId)])
    else if (!link?.isReachable) answers.push([posting, { kind: 'unknown-user' }])
    else if (!wallet) held.push(posting)
    else {
      const [step] = decideInTurn(wallet, [posting]) as [Step]
      const result = resultOf(link.walletId, posting, step)
      answers.push([posting, result])
      planned.push({ walletId: link.walletId, posting, step })
      wallets.set(link.walletId, step.wallet)
      if (result.kind === 'outcome') outcomes.set(posting.referenceKey, result.outcome)
    }
  }
  return { answers, held, planned }
}

type Planned = { readonly walletId: string; readonly posting: PendingPosting; readonly step: Step }

function resultOf(walletId: string, { referenceKey, amountMinor }: PendingPosting, step: Step): PostingResult {
  if (step.refusal === 'WALLET_INACTIVE') return { kind: 'inactive' }
  // The link was live when it was read, before the wallet was locked; its user has been deleted since.
  if (step.refusal === 'WALLET_CLOSED') return { kind: 'unknown-user' }
  const { balanceMinor } = step.wallet
  return { kind: 'outcome', outcome: { referenceKey, walletId, amountMinor, balanceMinor, refusal: step.refusal } }
}

/** These refusals leave the reference free: they are about the wallet's state, not about the money. */
function isUnrecorded({ refusal }: Step): boolean {
  return refusal === 'WALLET_INACTIVE' || refusal === 'WALLET_CLOSED'
}

/**
 * Writes the decided values. The rows are locked, so the update needs no condition. The clock is read in this statement,
 * after the locks, so that the transfers of one wallet never go back in time.
 */
const sqlOf = ({ isCluster }: { readonly isCluster: boolean }) => `
with changed as (
  update wallets w set balance = c.balance, sequence = c.sequence, frozen_for = c.frozen_for,
    frozen_reason = case when w.frozen_for is not distinct from c.frozen_for then w.frozen_reason end
  from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[]) as c(wallet_id, balance, sequence, frozen_for)
  where w.id = c.wallet_id${isCluster ? ` returning w.id, ${walletClockSql} as at` : ''}
), operation as (
  select o.*, t.at from ${isCluster ? 'changed' : '(select clock_timestamp() as at)'} as t join
    unnest($5::uuid[], $6::bigint[], $7::bigint[], $8::bigint[], $9::uuid[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
    as o(wallet_id, sequence, balance, amount, reference_key, counter_account, reference_type, reference_id, description, refusal)
    on ${isCluster ? 't.id = o.wallet_id' : 'true'}
), ${ledgerRowsSql('$15')}
select 1`

const statement = {
  name: 'post-carefully',
  text: sqlOf({ isCluster: false }),
  onCluster: sqlOf({ isCluster: true }),
}

async function write(client: Queryable, planned: readonly Planned[], writer: number): Promise<void> {
  const after = new Map(planned.map(({ walletId, step }) => [walletId, step.wallet]))
  const wallets = [...after]
  const asked = planned.map(({ posting }) => posting)
  await client.query({
    ...statement,
    values: [
      plainArray(wallets, ([id]) => id),
      plainArray(wallets, ([, wallet]) => wallet.balanceMinor),
      plainArray(wallets, ([, wallet]) => wallet.sequence),
      plainArray(wallets, ([, wallet]) => wallet.frozenFor),
      plainArray(planned, ({ walletId }) => walletId),
      plainArray(planned, ({ step }) => (step.refusal ? null : step.wallet.sequence)),
      plainArray(planned, ({ step }) => step.wallet.balanceMinor),
      plainArray(asked, (posting) => posting.amountMinor),
      plainArray(asked, (posting) => posting.referenceKey),
      textArray(asked, (posting) => posting.counterAccount),
      textArray(asked, (posting) => posting.referenceType),
      textArray(asked, (posting) => posting.referenceId),
      textArray(asked, (posting) => posting.description),
      plainArray(planned, ({ step }) => step.refusal),
      String(writer),
    ],
  })
}

/** Reports the entries, and the wallets that a debt froze or whose debt was repaid. */
function journal(
  client: Queryable,
  planned: readonly Planned[],
  before: ReadonlyMap<string, Wallet>,
  writer: number,
): (Promise<unknown> | undefined)[] {
  const posted = planned.flatMap(({ posting, step }) =>
    step.refusal ? [] : [{ posting, sequence: step.wallet.sequence }],
  )
  const after = new Map(planned.map(({ walletId, step }) => [walletId, step.wallet]))
  const changed = [...after].filter(
    ([id, { frozenFor }]) => (frozenFor === null) !== (before.get(id)?.frozenFor === null),
  )
  const entries = journalEntries(client, posted, writer)
  // After the entries that caused them.
  const facts = changed.map(([id, { frozenFor }]) =>
    journalUserFact(client, frozenFor === null ? 'wallet.unfrozen' : 'wallet.frozen', id, writer),
  )
  return [entries, ...facts]
}
