/** Many debits and credits: cut into requests, sent one after the other, and asked again where an answer is missing. */
import type { BulkRequest, BulkResponse } from '../contract/wire.ts'
import { waitBefore } from './backoff.ts'
import { call, sleep } from './call.ts'
import type { Json, Route } from './call.ts'
import { BillfoldError, errorOfAnswer, isRetryableStatus } from './error.ts'
import { redactorOf } from './redact.ts'
import type { Settings } from './settings.ts'

type Operation = BulkRequest['operations'][number]
type Result = BulkResponse['results'][number]
type Options = { signal?: AbortSignal }

const route: Route = { method: 'POST', path: '/api/server/wallet/bulk' }
const maxOperations = 1_000
/** Less than the megabyte that the service takes, for the credentials have their place in it too. */
const maxBytes = 1_000_000

/** One answer for each operation, in their order. Throws when the service refuses the first request as a whole: then nothing has moved. */
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
      // What was sent before has its answers, and those are worth more than an exception: the rest is told why it has none.
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

/** Operations whose fate the service could not tell are sent again: their references keep that safe. */
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
    // The others have their answers; these keep theirs, which says that nobody knows.
    if (!again) break
    for (const [i, index] of open.entries()) results[index] = again[i]!
  }
  return results.map(({ status, ...body }, i) => {
    if (status === 200) return body
    const facts = { call: `${route.method} ${route.path}`, status, requestId: undefined, retryAfterMs: undefined }
    return errorOfAnswer(body, facts, redactorOf([settings.clientSecret, piece[i]!.serviceUserId]))
  })
}

function isOpen({ status }: Result): boolean {
  return isRetryableStatus(status)
}

async function retryOperations(settings: Settings, open: readonly Operation[], options: Options, done: number) {
  try {
    await sleep(waitBefore(done, undefined, Math.random())!, `${route.method} ${route.path}`, options.signal)
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
