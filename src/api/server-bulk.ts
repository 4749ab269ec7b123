/** Many debits and credits in one request, each answered as if it had been sent alone. */
import { z } from 'zod'
import { postListForApp, type AppPosting } from '../actions/money/post.ts'
import type { Service } from '../actions/service.ts'
import { parseAmount } from '../ledger/money.ts'
import { placesPerTurn, turnFor } from '../store/writer/turns.ts'
import { isRetryable, type PostingResult } from '../store/writer/posting.ts'
import { networkOf } from '../platform/address.ts'
import { readLargeBody } from '../web/body.ts'
import { plainHeaders } from '../web/headers.ts'
import { enter, identify, parseInput } from './client-call.ts'
import { bulkExample } from './examples.ts'
import { refuse, refuseFor, type Answer } from './reply.ts'
import { isJson, refuseLate, toInput, type Input } from './request.ts'
import type { Call, Route } from './route.ts'
import { alwaysErrors, answerTo, callErrors, postingAnswer } from './server.ts'
import * as shape from './shapes.ts'
import { decode, notJson, parseElements, parseObject, peekTexts, type Parsed } from './strict-json.ts'

const maxOperations = 1_000
const maxBodyBytes = 1024 * 1024
/** An operation is hardly shorter: the text's length limits their number before it is parsed. */
const leastLength = 100
const maxUnknownLength = 64 * 1024
/** A quarter of a turn. */
const sliceLength = placesPerTurn / 4
const ndjson = 'application/x-ndjson'

const bulkAnswer = z
  .object({
    results: z
      .array(
        z.union([
          postingAnswer.extend({ status: z.literal(200) }),
          z.looseObject({
            status: z.int().min(400).max(599).describe('The status that the operation would have had alone'),
            error: z.string().describe('A message for people'),
            code: z.string().describe('A stable code for programs'),
          }),
        ]),
      )
      .describe('One per operation, in the same order'),
  })
  .meta({ id: 'Bulk' })

export function bulkRoute(service: Service): Route {
  const { currency } = service.config
  const operation = z.object({
    direction: z.enum(['debit', 'credit'], 'must be debit or credit'),
    ...shape.postingFields(currency),
  })
  const listed = `must be a list of 1 to ${maxOperations} operations`
  // Operations are validated one by one below, so a wrong one does not refuse the others.
  const schema = z.object({
    ...shape.credentialFields,
    operations: z.array(z.custom<Parsed>(), listed).min(1, listed).max(maxOperations, listed),
  })
  return {
    method: 'POST',
    path: '/api/server/wallet/bulk',
    tag: 'Server',
    proof: 'app',
    summary: 'Many debits and credits at once',
    description: [
      `Up to ${maxOperations} operations in a body of at most 1 MiB. Each is posted, refused or replayed exactly as if it had been sent alone, under its own`,
      'reference. Operations of one user are posted in the order of the list. 200 means that every operation has its own `status`, not that all of them succeeded. As',
      `\`${ndjson}\` the first line holds the credentials and every other line one operation; the answer then has one line per operation.`,
    ].join(' '),
    input: z.object({ ...shape.credentialFields, operations: z.array(operation).min(1).max(maxOperations) }),
    output: bulkAnswer,
    lines: true,
    errors: [...callErrors, 'PAYLOAD_TOO_LARGE', 'REQUEST_TIMEOUT', 'UNSUPPORTED_MEDIA_TYPE', ...alwaysErrors],
    example: bulkExample,
    handle: async (call) => {
      const read = await readBulk(service, call)
      if ('status' in read) return read
      const identified = await identify(service, call, read, 'wallet:write')
      if (identified.refusal) return identified.refusal
      const { app } = identified
      const parsed = parseInput(schema, read)
      if ('refusal' in parsed) return parsed.refusal
      const { operations } = parsed.input
      const busy = enter(service, call, app, 'operations', operations.length)
      if (busy) return busy
      const post = postListForApp(service, app, call.context.arrivedAt)
      const asked: (Promise<PromiseSettledResult<PostingResult>> | Answer)[] = []
      for (const [i, parsed] of operations.entries()) {
        if (i % sliceLength === 0 && i > 0) await turnFor(app.clientId, sliceLength)
        const one = toInput(parsed)
        const checked = 'status' in one ? { refusal: one } : parseInput(operation, one)
        asked.push('refusal' in checked ? checked.refusal : post(toPosting(checked.input)))
      }
      const answers: Answer[] = []
      for (const one of asked) {
        if (!(one instanceof Promise)) answers.push(one)
        else {
          const result = await one
          answers.push(
            result.status === 'fulfilled' ? answerTo(service, app, result.value) : refuseFault(result.reason),
          )
        }
      }
      const lines = answers.map(({ status, body }) => ({ status, ...body }))
      return isLines(call.request) ? linesResponse(lines) : { status: 200, body: { results: lines } }
    },
  }

  function toPosting({ amount, description = null, ...rest }: z.infer<typeof operation>): AppPosting {
    return { ...rest, amountMinor: parseAmount(amount, currency)!, description }
  }
}

/** Answers an operation whose outcome is unknown, beside others that have one. The writer has logged the cause. */
function refuseFault(error: unknown): Answer {
  return refuse(isRetryable(error) ? 'UNAVAILABLE' : 'INTERNAL')
}

function isLines(request: Request): boolean {
  return /^application\/x-ndjson\s*(;|$)/i.test(request.headers.get('content-type') ?? '')
}

function linesResponse(lines: readonly object[]): Response {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  return new Response(text, { headers: { ...plainHeaders, 'content-type': ndjson } })
}

/**
 * Returns the fields of the request; each element of `operations` is a `Parsed`. Before the text is parsed, its credentials are
 * checked and its size is counted as operations of the app.
 */
async function readBulk(service: Service, call: Call): Promise<Input | Answer> {
  const { request, context } = call
  const hasLines = isLines(request)
  if (!hasLines && !isJson(request.headers.get('content-type'))) return refuse('UNSUPPORTED_MEDIA_TYPE')
  const body = await readLargeBody(request, maxBodyBytes, networkOf(context.address))
  if (body === 'too-many') return refuseFor(1)
  if (body === 'too-long') return refuse('PAYLOAD_TOO_LARGE', { error: 'The body is larger than 1 MiB.' })
  if (body === 'too-late') return refuseLate()
  const text = decode(body)
  if (text === undefined) return toInput(notJson)
  const credentials = peekTexts(text, ['clientId', 'clientSecret'])
  // A small body costs no more than a single debit, and its answer names what is wrong with it.
  if (!credentials && text.length > maxUnknownLength) {
    service.metrics.refusedCredentials('unknown-app')
    return refuse('INVALID_CLIENT')
  }
  let line = ''
  if (credentials) {
    const { app, refusal } = await identify(
      service,
      call,
      { ...credentials, values: credentials.value },
      'wallet:write',
    )
    if (refusal) return refusal
    const busy = enter(service, call, app, 'operations', Math.min(maxOperations, Math.ceil(text.length / leastLength)))
    if (busy) return busy
    line = app.clientId
  }
  // Parsing takes milliseconds.
  await turnFor(line, placesPerTurn)
  return hasLines ? readLines(text) : readObject(text)
}

function readObject(text: string): Input | Answer {
  const read = toInput(parseObject(text))
  if ('status' in read) return read
  const list = read.values['operations']
  if (!Array.isArray(list) || list.length > maxOperations) return read
  const operations = parseElements(text, list, 'operations')
  return { values: { ...read.values, operations }, spoiled: read.spoiled }
}

function readLines(text: string): Input | Answer {
  // One line above the limit is enough to refuse the request.
  const [first = '', ...rest] = text.trimEnd().split('\n', maxOperations + 2)
  const read = toInput(parseObject(first))
  if ('status' in read) return read
  return { values: { ...read.values, operations: rest.map(parseObject) }, spoiled: read.spoiled }
}
