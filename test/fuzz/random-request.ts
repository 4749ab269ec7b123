/** Requests generated from the OpenAPI document by a seed: valid ones, and ones broken in many ways. */
import document from '../../docs/openapi.json'

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly maxLength?: number
  readonly pattern?: string
  readonly maximum?: number
}
type Parameter = { readonly name: string; readonly required?: boolean; readonly schema: Schema }
type Described = {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
}

export type Operation = {
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: Schema | undefined
}

const verbs = new Set(['get', 'head', 'post', 'put', 'patch', 'delete'])

export const operations: readonly Operation[] = Object.entries(
  document.paths as unknown as Record<string, Record<string, Described>>,
).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method]) => verbs.has(method))
    .map(([method, { parameters = [], requestBody }]) => {
      const body = requestBody?.content['application/json'].schema
      return { method: method.toUpperCase(), path, parameters, body }
    }),
)

/** Numbers from 0 to 1; the same seed gives the same numbers (mulberry32). */
export function openRandom(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    isOne: (of: number) => below(of) === 0,
    pick: <T>(values: readonly T[]): T => values[below(values.length)]!,
  }
}

export type Random = ReturnType<typeof openRandom>

/** A value that exists in the service, for the name of a field or parameter; undefined for other names. */
export type Known = (name: string) => unknown

/** A value that the schema allows. */
function make(schema: Schema, random: Random, known: Known, name = ''): unknown {
  const meant = random.isOne(40) ? undefined : known(name)
  if (meant !== undefined) return meant
  if (schema.$ref !== undefined) return make(resolved(schema.$ref), random, known, name)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return random.pick(schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return make(random.pick(choices), random, known, name)
  const type = typeof schema.type === 'object' ? random.pick(schema.type) : schema.type
  if (type === 'object') return makeObject(schema, random, known)
  if (type === 'array')
    return Array.from({ length: random.below(3) }, () => make(schema.items ?? {}, random, known, name))
  if (type === 'integer') return 1 + random.below(200)
  if (type === 'number') return (1 + random.below(10_000)) / 100
  if (type === 'boolean') return random.isOne(2)
  if (type === 'null') return null
  return makeText(schema, random)
}

function makeObject({ properties = {}, required = [] }: Schema, random: Random, known: Known): Record<string, unknown> {
  const given = Object.entries(properties).filter(([name]) => required.includes(name) || random.isOne(2))
  return Object.fromEntries(given.map(([name, schema]) => [name, make(schema, random, known, name)]))
}

const letters = ['a', 'Z', '7', ' ', '-', '_', 'é', '漢', '🦙', '<b>', '"', '\\', '%', '&', "'", ';--', '${x}', '=1+1']

function makeText({ pattern, maxLength = 60 }: Schema, random: Random): string {
  if (pattern?.includes('\\d')) return String(random.below(1_000_000)).padStart(6, '0')
  let text = ''
  for (let left = 1 + random.below(12); left > 0; left--) text += random.pick(letters)
  return text.slice(0, maxLength).toWellFormed()
}

function resolved($ref: string): Schema {
  let found: unknown = document
  for (const part of $ref.split('/').slice(1)) found = (found as Record<string, unknown>)[part]
  return found as Schema
}

/** Values that no schema, or only some schemas, allow: the document decides whether they are refused. */
const odd: readonly unknown[] = [
  undefined,
  null,
  0,
  -1,
  -0.01,
  0.001,
  0.30000000000000004,
  1e21,
  1e15,
  999_999_999.99,
  true,
  [],
  {},
  [5],
  '',
  ' ',
  '5',
  'a\u0000b',
  'a\ud800b',
  'a\nb',
  '\u0085',
  '\ufeff',
  '../..',
  "' or 1=1--",
  '__proto__',
  'x'.repeat(130),
  'x'.repeat(600),
  'x'.repeat(10_000),
]

export type Made = {
  readonly request: Request
  readonly operation: Operation
  /** The fields of the body before its text was broken; undefined if there is no body or its text was broken. */
  readonly values: Readonly<Record<string, unknown>> | undefined
  /** The values may be valid, but the request is broken in another way: its body, size, content type, method or site. */
  readonly isSpoiled: boolean
}

const base = 'http://billfold.test'

type Spoil = 'type' | 'text' | 'twice' | 'method' | 'size' | 'site'

export function makeRequest(operation: Operation, random: Random, known: Known): Made {
  const query = new URLSearchParams()
  const breaks = random.isOne(2) ? 1 + random.below(2) : 0
  const spoil: Spoil | undefined = random.isOne(12)
    ? random.pick<Spoil>(['type', 'text', 'twice', 'method', 'size', 'site'])
    : undefined
  const parameters: Record<string, unknown> = {}
  for (const { name, required = false, schema } of operation.parameters)
    if (required || random.isOne(3)) parameters[name] = make(schema, random, known, name)
  const values = operation.body && (make(operation.body, random, known) as Record<string, unknown>)
  for (let i = 0; i < breaks; i++) breakOne(values && !random.isOne(4) ? values : parameters, random)
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  const headers = new Headers()
  if (spoil === 'site') headers.set('sec-fetch-site', random.pick(['cross-site', 'same-site', 'none']))
  let text = values && JSON.stringify(values)
  if (text !== undefined) {
    if (spoil === 'text') text = random.pick([text.slice(0, -1), `[${text}]`, '', 'null', `${text}x`])
    if (spoil === 'twice') {
      // A field that was set to undefined is not in the text.
      const names = Object.keys(JSON.parse(text) as object)
      text = `{${JSON.stringify(random.pick(names) ?? 'x')}:1,${text.slice(1)}`
    }
    const limit = operation.path.endsWith('/bulk') ? 2 ** 20 : 2 ** 16
    if (spoil === 'size') text = `${text.slice(0, -1)}${' '.repeat(limit)}}`
    headers.set('content-type', spoil === 'type' ? random.pick(['text/plain', 'application/xml']) : 'application/json')
  }
  const method =
    spoil === 'method' ? random.pick(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']) : operation.method
  if (spoil === 'twice' && query.size > 0) query.append(random.pick([...query.keys()]), 'x')
  const url = `${base}${operation.path}${query.size > 0 ? `?${query}` : ''}`
  const hasBody = text !== undefined && method !== 'GET' && method !== 'HEAD'
  const request = new Request(url, { method, headers, ...(hasBody && { body: text! }) })
  const isSpoiled = hasBody && spoil !== undefined && spoil !== 'site' && spoil !== 'method'
  return { request, operation, values, isSpoiled }
}

function breakOne(values: Record<string, unknown>, random: Random): void {
  const names = Object.keys(values)
  if (names.length > 0) values[random.pick(names)] = random.pick(odd)
}
