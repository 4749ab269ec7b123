/**
 * Holds real answers against the committed OpenAPI document: status, media type, headers and body. Stricter than the
 * document, which lets answers grow: what it does not name must not be there.
 */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import document from '../docs/openapi.json'

type Header = { readonly required: boolean; readonly schema: object }
type Answer = {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
}
type Operation = { readonly responses: Readonly<Record<string, Answer>> }

const paths = document.paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>
const componentHeaders = document.components.headers as Readonly<Record<string, Header>>

/** Every answer has these, or the connection decides: they say nothing about the operation. */
const plainHeaders = new Set(
  `content-security-policy x-content-type-options x-frame-options referrer-policy cache-control cross-origin-resource-policy
  strict-transport-security x-accel-buffering content-type content-encoding vary connection keep-alive date
  content-length transfer-encoding`.split(/\s+/),
)

// `src/api/openapi.test.ts` checks the schemas themselves, once for all processes of the tests.
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
})
addFormats.default(ajv)
/** Compiled once for all that refer to it. */
const components = 'components'
ajv.addSchema({ $id: components, components: { schemas: closed(document.components.schemas) } })
const validators = new WeakMap<object, ValidateFunction>()
/** Many operations have the same errors. */
const validatorsByText = new Map<string, ValidateFunction>()

/**
 * The same way to send, but an answer that the document does not describe throws. It is also kept in `undocumented`, for callers that do
 * not see what is thrown: behind a server, for example.
 */
export function documented<More extends unknown[]>(
  send: (request: Request, ...more: More) => Promise<Response>,
  undocumented: string[] = [],
): typeof send {
  return async (request, ...more) => {
    const response = await send(request, ...more)
    // The answer to a request that was given up is for the log alone.
    if (request.signal.aborted) return response
    const isJson = response.headers.get('content-type') === 'application/json'
    const text = isJson ? await textOf(response.clone()) : ''
    const problems = findUndocumented(request.method, request.url, response, text)
    undocumented.push(...problems)
    if (problems.length > 0) throw new Error(problems.join('\n'))
    return response
  }
}

/** The app is called without a connection, so nothing has decompressed its answer yet. */
async function textOf(response: Response): Promise<string> {
  const bytes = await response.arrayBuffer()
  const encoding = response.headers.get('content-encoding')
  if (encoding === 'br') return brotliDecompressSync(bytes).toString()
  return encoding === 'gzip' ? gunzipSync(bytes).toString() : new TextDecoder().decode(bytes)
}

/** What the document does not know of this answer; nothing, if all is well. */
export function findUndocumented(method: string, url: string, response: Response, text: string): string[] {
  const { pathname } = new URL(url)
  const path = paths[pathname]
  // The paths of tiles are those of C2SP.
  if (!path && (!pathname.startsWith('/api/') || pathname.startsWith('/api/log/tile/'))) return []
  const name = `${method} ${pathname} ${response.status}`
  const answer = path?.[method.toLowerCase()]?.responses[response.status] ?? absent(path, method, response)
  if (!answer) return [`${name} is not in the OpenAPI document`]
  return [...headerProblems(answer, response.headers), ...bodyProblems(answer, response, text)].map(
    (problem) => `${name}: ${problem}`,
  )
}

const anyError = (code: string): Answer => ({
  headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
  content: {
    'application/json': {
      schema: { allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { const: code } } }] },
    },
  },
})

/** The document says of what it does not list: a path is 404, a method 405. */
function absent(path: Readonly<Record<string, Operation>> | undefined, method: string, { status }: Response) {
  const answer = !path ? anyError('NOT_FOUND') : path[method.toLowerCase()] ? undefined : anyError('METHOD_NOT_ALLOWED')
  const hasStatus = status === (path ? 405 : 404)
  const isHead = method === 'HEAD'
  return hasStatus && answer ? (isHead ? { headers: answer.headers! } : answer) : undefined
}

function headerProblems({ headers = {} }: Answer, sent: Headers): string[] {
  const known = new Map(Object.entries(headers).map(([name, { $ref }]) => [name.toLowerCase(), $ref]))
  const strangers = [...sent.keys()].filter((name) => !known.has(name) && !plainHeaders.has(name) && name !== 'allow')
  const problems = strangers.map((name) => `the header ${name} is not in the OpenAPI document`)
  for (const [name, $ref] of known) {
    const { required, schema } = componentHeaders[$ref.split('/').at(-1)!]!
    const text = sent.get(name)
    if (text === null && required) problems.push(`the header ${name} is missing`)
    if (text === null) continue
    const validate = validatorOf(schema)
    const value = (schema as { type?: string }).type === 'integer' ? Number(text) : text
    if (!validate(value)) problems.push(`the header ${name} is ${text}: ${ajv.errorsText(validate.errors)}`)
  }
  return problems
}

function bodyProblems({ content }: Answer, { headers }: Response, text: string): string[] {
  if (!content) return text === '' ? [] : ['has a body, and the OpenAPI document has none']
  const mediaType = headers.get('content-type') ?? 'none'
  const schema = content[mediaType]?.schema
  if (!schema) return [`the content type ${mediaType} is not in the OpenAPI document`]
  if (mediaType !== 'application/json') return []
  const validate = validatorOf(schema)
  return validate(JSON.parse(text)) ? [] : [`${ajv.errorsText(validate.errors)} in ${text}`]
}

export function validatorOf(schema: object): ValidateFunction {
  const known = validators.get(schema)
  if (known) return known
  const text = JSON.stringify(closed(schema)).replaceAll('"#/', `"${components}#/`)
  const validator = validatorsByText.get(text) ?? ajv.compile(JSON.parse(text) as object)
  validators.set(schema, validator)
  validatorsByText.set(text, validator)
  return validator
}

/** Nothing beside the properties that are named. The parts of an `allOf` know of each other's only together, so they stay open. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const schema = Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, key === 'allOf' ? part : closed(part)]),
  )
  return 'properties' in schema ? { additionalProperties: false, ...schema } : schema
}
