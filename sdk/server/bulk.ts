/** Sends many debits and credits: split into requests, sent one after the other, and retried where the outcome is unknown. */
import type { BulkRequest, BulkResponse } from '../contract/wire.ts'
import { waitBefore } from './backoff.ts'
import { sleep } from './attempt.ts'
import { call } from './call.ts'
import type { Json, Route } from './call.ts'
import { BillfoldError, errorOfAnswer, isRetryableStatus } from './error.ts'
import { redactorOf } from './redact.ts'
import type { Settings } from './settings.ts'

type Operation = BulkRequest['operations'][number]
type Result = BulkResponse['results'][number]
type Options = { signal?: AbortSignal }

const route: Route = { method: 'POST', path: '/api/server/wallet/bulk', hasReference: true }
const maxOperations = 1_000
/** Below the service's limit of 1 MiB, to leave room for the credentials. */
const maxBytes = 1_000_000

/** Returns one answer per operation, in the same order. Throws if the first request fails as a whole. */
export async function sendAll(
  settings: Settings,
  operations: readonly Operation[],
  options: Options,
): Promise<(Json | BillfoldError)[]> {
  const answers: (Json | BillfoldError)[] = []
  for (const piece of cut(operations)) {
    try {
      answers.push(...(await sendPiece(settings, piece, options)))
    } catch (error) {
      if (!(error instanceof BillfoldError) || answers.length === 0) throw error
      // The answers of earlier requests must not be lost in an exception: the remaining operations get the error instead.
      while (answers.length < operations.length) answers.push(error)
      return answers
    }
  }
  return answers
}

function* cut(operations: readonly Operation[]): Generator<Operation[]> {
  let piece: Operation[] = []
  let bytes = 0
  for (const operation of operations) {
    const size = new TextEncoder().encode(JSON.stringify(operation)).length + 1
    if (piece.length === maxOperations || (piece.length > 0 && bytes + size > maxBytes)) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(operation)
    bytes += size
  }
  if (piece.length > 0) yield piece
}

/** Retries operations whose outcome the service did not know. Their references make that safe. */
async function sendPiece(settings: Settings, piece: readonly Operation[], options: Options) {
  const results = await sendOperations(settings, piece, options)
  for (let done = 0; done < settings.maxRetries && results.some(isOpen); done++) {
    const open = [...results.keys()].filter((index) => isOpen(results[index]!))
    const again = await retryOperations(
      settings,
      open.map((index) => piece[index]!),
      options,
      done,
    )
    // The retry failed as a whole: these operations keep the answer that their outcome is unknown.
    if (!again) break
    for (const [i, index] of open.entries()) results[index] = again[i]!
  }
  return results.map(({ status, ...body }, i) => {
    if (status === 200) return body
    const { name, address } = namedBy(settings)
    const facts = { call: name, url: address, status, requestId: undefined, retryAfterMs: undefined }
    return errorOfAnswer(body, facts, redactorOf([settings.clientSecret, piece[i]!.serviceUserId]))
  })
}

function namedBy({ baseUrl }: Settings) {
  const address = baseUrl + route.path
  return { name: `${route.method} ${address}`, address }
}

function isOpen({ status }: Result): boolean {
  return isRetryableStatus(status)
}

async function retryOperations(settings: Settings, open: readonly Operation[], options: Options, done: number) {
  try {
    await sleep(waitBefore(done, undefined, Math.random())!, namedBy(settings), options.signal)
    return await sendOperations(settings, open, options)
  } catch (error) {
    if (error instanceof BillfoldError) return undefined
    throw error
  }
}

async function sendOperations(
  settings: Settings,
  operations: readonly Operation[],
  options: Options,
): Promise<Result[]> {
  const isAnswer = (answer: Json): answer is Json & BulkResponse =>
    Array.isArray(answer.results) && answer.results.length === operations.length && answer.results.every(isResult)
  const { results } = await call(settings, route, { operations }, isAnswer, options)
  return results
}

function isResult(result: unknown): boolean {
  if (typeof result !== 'object' || result === null || !('status' in result)) return false
  if (result.status !== 200) return typeof result.status === 'number'
  return 'balance' in result && typeof result.balance === 'number' && 'message' in result
}
