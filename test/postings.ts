/** Postings for tests that use the writer, or one of its statements, directly. */
import { counterAccountOfApp, serviceNamespace } from '../src/ledger/reference.ts'
import { referenceKeyOf } from '../src/store/outcomes.ts'
import { newPending, type PendingPosting, type Posting } from '../src/store/writer/posting.ts'

/** A debit or credit with a new reference, on the account of the app that asks for it, or on that of cards. */
export function newPosting<Changes extends Partial<Posting> = object>(
  by: Posting['by'],
  amountMinor: bigint,
  changes?: Changes,
): Posting & Changes {
  const ofApp = by.clientId === undefined ? undefined : counterAccountOfApp(by.clientId)
  const reference = { referenceType: 'TEST', referenceId: changes?.referenceId ?? crypto.randomUUID() }
  const key = { namespace: ofApp ?? serviceNamespace, type: reference.referenceType, id: reference.referenceId }
  const usual = {
    by,
    amountMinor,
    isReversal: false,
    referenceKey: referenceKeyOf(key),
    counterAccount: ofApp ?? 'cards',
    ...reference,
    description: null,
  }
  return { ...usual, ...changes } as Posting & Changes
}

/** As the writer has it, for a statement that is called without the writer. No caller waits for its answer. */
export function pendingOf(posting: Posting): PendingPosting {
  return newPending(
    posting,
    performance.now(),
    undefined,
    () => {},
    () => {},
  )
}
