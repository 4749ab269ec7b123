/** Many debits and credits in one request, each answered as if it had been sent alone. */
import { z } from 'zod'
import { postAllForApp, type AppPosting } from '../actions/money/post.ts'
import type { Service } from '../actions/service.ts'
import { parseAmount } from '../ledger/money.ts'
import { isRetryable } from '../store/writer/posting.ts'
import { readBody } from '../web/body.ts'
import { plainHeaders } from '../web/headers.ts'
import { parseInput, readClientCall } from './client-call.ts'
import { bulkExample } from './examples.ts'
import { refuse, type Answer } from './reply.ts'
import { isJson, refuseLate, toInput, type Input } from './request.ts'
import type { Route } from './route.ts'
import { alwaysErrors, answerTo, callErrors, postingAnswer, postingFields } from './server.ts'
import * as shape from './shapes.ts'
import { decode, notJson, parseElements, parseObject, type Parsed } from './strict-json.ts'

const maxOperations = 1_000
const maxBodyBytes = 1024 * 1024
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
    ...postingFields(currency),
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
    proof: 'client',
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
      const read = await readClientCall(service, call, { scope: 'wallet:write', schema, readBody: readBulk })
      if (read.refusal) return read.refusal
      const { app, input, arrivedAt } = read
      const asked = input.operations.map((parsed) => {
        const one = toInput(parsed)
        if ('status' in one) return { refusal: one }
        const checked = parseInput(operation, one)
        return 'refusal' in checked ? checked : toPosting(checked.input)
      })
      const results = await postAllForApp(service, app, asked.filter(isPosting), arrivedAt)
      let next = 0
      const answers = asked.map((one) => {
        if (!isPosting(one)) return one.refusal
        const result = results[next++]!
        return result.status === 'fulfilled' ? answerTo(service, app, result.value) : refuseFault(result.reason)
      })
      const lines = answers.map(({ status, body }) => ({ status, ...body }))
      return isLines(call.request) ? linesResponse(lines) : { status: 200, body: { results: lines } }
    },
  }

  function toPosting({ amount, description = null, ...rest }: z.infer<typeof operation>): AppPosting {
    return { ...rest, amountMinor: parseAmount(amount, currency)!, description }
  }
}

function isPosting(one: AppPosting | { readonly refusal: Answer }): one is AppPosting {
  return !('refusal' in one)
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

/** Returns the fields of the request; each element of `operations` is a `Parsed`. */
async function readBulk(request: Request): Promise<Input | Answer> {
  const hasLines = isLines(request)
  if (!hasLines && !isJson(request.headers.get('content-type'))) return refuse('UNSUPPORTED_MEDIA_TYPE')
  const body = await readBody(request, maxBodyBytes)
  if (body === 'too-long') return refuse('PAYLOAD_TOO_LARGE', { error: 'The body is larger than 1 MiB.' })
  if (body === 'too-late') return refuseLate()
  const text = decode(body)
  if (text === undefined) return toInput(notJson)
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
