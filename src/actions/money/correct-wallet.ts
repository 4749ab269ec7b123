/**
 * A debit or credit by hand. One operator asks for it; above a limit another one approves it. The correction's id is the reference
 * of the posting, so posting it again moves no money.
 */
import { correctionType, counterAccountOfApp, magnitude } from '../../ledger/reference.ts'
import { transact, type Queryable, type Transaction } from '../../store/connection/database.ts'
import * as store from '../../store/corrections.ts'
import type { Correction, NewCorrection } from '../../store/corrections.ts'
import { listAppsOfUser } from '../../store/links.ts'
import { lockOperatorOrders } from '../../store/locks.ts'
import { findTransferByReference, lockWallet } from '../../store/wallets.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { findDependence, isSamePerson, personOf, type Dependence } from '../operators/independence.ts'
import type { Service } from '../service.ts'
import { postForService, type ServicePosting } from './post.ts'

export type CorrectionOrder = Omit<NewCorrection, 'needsApproval' | 'askedBy'>

export type CorrectionProblem = 'unknown-wallet' | 'unknown-account' | 'unknown-transaction' | 'too-much' | 'reused'

export const correctionProblems: Readonly<Record<CorrectionProblem, string>> = {
  'unknown-wallet': 'There is no such wallet.',
  'unknown-account': 'Choose an account of the list: adjustments, bonus, or that of an app the user was linked to.',
  'unknown-transaction': 'This wallet has no such transaction.',
  'too-much': 'Together with its other corrections, that would take back more than the transaction moved.',
  reused: 'This id was used before, for an order with other content. Nothing was done: start again for a new order.',
}

/** The counter accounts allowed for corrections of this wallet. An app's account needs a present or past link of the user. */
export async function listCorrectionAccounts(service: Service, walletId: string): Promise<string[]> {
  const apps = await listAppsOfUser(service.db.pool, walletId)
  return ['adjustments', 'bonus', ...apps.map(counterAccountOfApp)]
}

/**
 * The id binds its content: a repeat, as from a form sent twice, returns the first correction in its current state, and other content
 * is refused. A correction up to the limit is posted at once.
 */
export async function askCorrection(
  service: Service,
  actor: Actor,
  order: CorrectionOrder,
): Promise<Correction | { readonly problem: CorrectionProblem }> {
  const accounts = await listCorrectionAccounts(service, order.walletId)
  const asked = await transact(service.db, async (tx) => {
    await lockOperatorOrders(tx, personOf(actor.name))
    // The lock on the wallet's row serialises its corrections: each one sees the sums of those before it.
    if (!(await lockWallet(tx, order.walletId))) return 'unknown-wallet' as const
    const known = await store.findCorrection(tx, order.id)
    if (known) return isSameOrder(known, order) ? known : ('reused' as const)
    if (!accounts.includes(order.counterAccount)) return 'unknown-account' as const
    const problem = await findTransactionProblem(tx, order)
    if (problem) return problem
    const { leftMinor } = await readAllowance(service, tx, actor)
    return (await insertAsked(tx, actor, order, magnitude(order.amountMinor) > leftMinor)) ?? ('reused' as const)
  })
  return typeof asked === 'string' ? { problem: asked } : await postCorrection(service, actor, asked)
}

/** Undefined when the id belongs to a correction with other content, also one that another process has just inserted. */
export async function insertAsked(
  tx: Transaction,
  actor: Actor,
  order: CorrectionOrder,
  needsApproval: boolean,
): Promise<Correction | undefined> {
  if (await store.insertCorrection(tx, { ...order, needsApproval, askedBy: actor.name }))
    await recordAudit(tx, actor, 'correction.asked', `wallet:${order.walletId}`, {
      ...detailOf(order),
      counterAccount: order.counterAccount,
      reason: order.reason,
      corrects: order.corrects && `txn_${order.corrects}`,
      needsApproval,
    })
  const asked = (await store.findCorrection(tx, order.id))!
  return isSameOrder(asked, order) ? asked : undefined
}

const orderFields = ['walletId', 'amountMinor', 'counterAccount', 'reason', 'corrects'] as const

export function isSameOrder(known: CorrectionOrder, order: CorrectionOrder): boolean {
  return orderFields.every((field) => known[field] === order[field])
}

async function findTransactionProblem(
  tx: Transaction,
  { walletId, amountMinor, corrects }: CorrectionOrder,
): Promise<CorrectionProblem | undefined> {
  if (corrects === null) return undefined
  const transfer = await findTransferByReference(tx, corrects)
  if (transfer?.walletId !== walletId) return 'unknown-transaction'
  // A correction in the same direction adds to the transaction, and has no bound.
  if (amountMinor < 0n === transfer.amountMinor < 0n) return undefined
  const before = await store.sumCorrectionsOf(tx, corrects, amountMinor < 0n ? -1 : 1)
  return magnitude(before + amountMinor) > magnitude(transfer.amountMinor) ? 'too-much' : undefined
}

export type Allowance = { readonly limitMinor: bigint; readonly leftMinor: bigint }

/**
 * What the operator may still move without approval: the limit minus what they moved alone in the last 24 hours, over all wallets,
 * so that neither small parts nor many wallets evade the limit. Decisions hold the lock on the operator's orders.
 */
export async function readAllowance(
  { config }: Pick<Service, 'config'>,
  db: Queryable,
  actor: Actor,
  decidedReferenceId?: string,
): Promise<Allowance> {
  const limitMinor = config.correctionApprovalAboveMinor
  const leftMinor = limitMinor - (await store.sumAlone(db, personOf(actor.name), decidedReferenceId))
  return { limitMinor, leftMinor: leftMinor > 0n ? leftMinor : 0n }
}

export type Decided =
  | { readonly correction: Correction }
  | { readonly problem: 'unknown' | 'own' | 'not-own' | 'decided' }
  | { readonly problem: 'dependent'; readonly dependence: Dependence }

/** Only an operator who did not ask, and is independent of the one who did, may approve. */
export async function approveCorrection(service: Service, actor: Actor, id: string): Promise<Decided> {
  const decided = await decideOn(service, actor, id, { state: 'approved', reason: null })
  return 'problem' in decided ? decided : { correction: await postCorrection(service, actor, decided.correction) }
}

export async function declineCorrection(service: Service, actor: Actor, id: string, reason: string): Promise<Decided> {
  return await decideOn(service, actor, id, { state: 'declined', reason })
}

/** Only the operator who asked may withdraw. */
export async function withdrawCorrection(service: Service, actor: Actor, id: string): Promise<Decided> {
  return await decideOn(service, actor, id, { state: 'withdrawn', reason: null })
}

/** The row lock lets one caller decide; the others get `decided`. */
async function decideOn(
  service: Service,
  actor: Actor,
  id: string,
  { state, reason }: { state: 'approved' | 'declined' | 'withdrawn'; reason: string | null },
): Promise<Decided> {
  return await transact(service.db, async (tx): Promise<Decided> => {
    const before = await store.lockCorrection(tx, id)
    if (!before) return { problem: 'unknown' }
    if (before.state !== 'waiting') return { problem: 'decided' }
    const isOwn = isSamePerson(before.askedBy, actor.name)
    if (isOwn !== (state === 'withdrawn')) return { problem: isOwn ? 'own' : 'not-own' }
    const who = { approver: actor.name, asker: before.askedBy }
    const dependence = state === 'approved' ? await findDependence(tx, who) : undefined
    if (dependence) return { problem: 'dependent', dependence }
    const detail = { ...detailOf(before), askedBy: before.askedBy, ...(reason !== null && { reason }) }
    await store.updateCorrectionDecided(tx, id, { state, by: actor.name, reason })
    await recordAudit(tx, actor, `correction.${state}`, `wallet:${before.walletId}`, detail)
    return { correction: (await store.findCorrection(tx, id))! }
  })
}

/** Posts an approved correction and stores the ledger's answer. Safe to repeat, also in several processes at once. */
export async function postCorrection(service: Service, actor: Actor, correction: Correction): Promise<Correction> {
  if (correction.state !== 'approved') return correction
  const { id, walletId, amountMinor, counterAccount, reason } = correction
  const result = await postForService(service, {
    walletId,
    counterAccount: counterAccount as ServicePosting['counterAccount'],
    amountMinor,
    isByOperator: true,
    referenceType: correctionType,
    referenceId: id,
    description: reason,
  })
  const refusal =
    result.kind === 'outcome'
      ? result.outcome.refusal
      : result.kind === 'inactive'
        ? 'WALLET_INACTIVE'
        : 'WALLET_CLOSED'
  return await transact(service.db, async (tx) => {
    if (await store.updateCorrectionPosted(tx, id, refusal))
      await recordAudit(tx, actor, `correction.${refusal ? 'refused' : 'posted'}`, `wallet:${walletId}`, {
        ...detailOf(correction),
        ...(refusal && { refusal }),
      })
    return (await store.findCorrection(tx, id))!
  })
}

/** Texts for the ledger's refusals. */
export const correctionRefusals: Readonly<Record<string, string>> = {
  INSUFFICIENT_BALANCE:
    'The wallet has less than that available: a correction never puts a wallet below zero, and never takes what apps hold.',
  BALANCE_LIMIT: 'The balance would be too high.',
  WALLET_INACTIVE: 'The wallet has less than zero available, or is closed: nothing can be taken from it.',
  WALLET_CLOSED: 'The account was deleted: its wallet takes no money.',
}

function detailOf({ id, amountMinor }: Pick<Correction, 'id' | 'amountMinor'>): Record<string, string> {
  return { correctionId: id, amountMinor: String(amountMinor) }
}
