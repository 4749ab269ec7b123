/** Undoes the movements of this run. It has its own time limit and its own signal, because the run may have been interrupted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isRepeatable, leftOf, type Left } from './movements.ts'
import { jsonInit, type Reply, type Subject } from './subject.ts'

const undoWithinMs = 30_000
const firstPauseMs = 250
const maxPauseMs = 4_000
const undoType = 'CONFORMANCE_UNDO'

/** Returns what could not be undone: nothing, if all is well. */
export async function undoMovements(subject: Subject, withinMs = undoWithinMs): Promise<Left[]> {
  const signal = AbortSignal.timeout(withinMs)
  const refused = new Set<string>()
  for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    await learnOutcomes(subject, signal)
    // Credits first, because the debits may need their money.
    for (const left of leftOf(subject.movements).sort((a, b) => a.sum - b.sum)) {
      const wallet = `${left.clientId} ${left.serviceUserId}`
      const isUndoing = left.unknown.some(({ reference }) => reference.startsWith(undoType))
      // While the outcome of an undoing is unknown, there is no second one.
      if (left.sum === 0 || isUndoing || refused.has(wallet)) continue
      if (await isUndoRefused(subject, left, signal)) refused.add(wallet)
    }
    const mayChange = ({ clientId, serviceUserId, sum, unknown }: Left) =>
      (sum !== 0 && !refused.has(`${clientId} ${serviceUserId}`)) || unknown.some(({ isRepeatable }) => isRepeatable)
    if (!leftOf(subject.movements).some(mayChange)) break
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
  }
  return leftOf(subject.movements)
}

/** Repeats every posting without an answer, with the same reference: either it moved before, or it moves now, or it is refused. */
async function learnOutcomes({ movements, send }: Subject, signal: AbortSignal): Promise<void> {
  for (const { posting } of movements.withState('unknown')) {
    if (!isRepeatable(posting)) continue
    await send(posting.path, posting.init, signal).catch(() => undefined)
  }
}

/** One posting undoes the sum of all. Its answer may be lost as well; then it is repeated like the others. */
async function isUndoRefused(subject: Subject, { clientId, serviceUserId, sum }: Left, signal: AbortSignal) {
  const credentials = subject.credentialsOf(clientId)
  const post = async (amount: number) => {
    const body = { ...credentials, serviceUserId, amount, ...subject.newReference(undoType) }
    const path = `/api/server/wallet/${sum > 0 ? 'debit' : 'credit'}`
    return await subject.send(path, jsonInit(body), signal).catch(() => undefined)
  }
  const reply = await post(Math.abs(sum))
  if (!isRefused(reply)) return false
  // Another caller, or a faulty service, has taken a part of it: undo the rest.
  if (sum > 0 && reply?.body?.['code'] === 'INSUFFICIENT_BALANCE') {
    const query = new URLSearchParams({ ...credentials, serviceUserId })
    const wallet = await subject.send(`/api/server/wallet?${query}`, {}, signal).catch(() => undefined)
    const balance = wallet?.body?.['balance']
    if (typeof balance === 'number' && balance > 0 && balance < sum) await post(balance)
  }
  return true
}

function isRefused(reply: Reply | undefined): boolean {
  return reply !== undefined && reply.status >= 400 && reply.status < 500 && ![408, 429].includes(reply.status)
}
