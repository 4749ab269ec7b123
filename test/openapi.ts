/** Holds real answers against the committed OpenAPI document. */
import { expect } from 'bun:test'
import { z } from 'zod'
import document from '../src/api/openapi.json'

type Schemas = Record<string, { responses?: Record<string, { content?: Record<string, { schema: object }> }> }>

const parsers = new Map<string, z.ZodType>()

export function expectDocumented(method: string, url: string, status: number, body: unknown): void {
  const { pathname } = new URL(url)
  const operation = (document.paths as Record<string, Schemas>)[pathname]?.[method.toLowerCase()]
  if (!operation) return
  const schema = operation.responses?.[String(status)]?.content?.['application/json']?.schema
  if (!schema) throw new Error(`${method} ${pathname} answered ${status}, which the OpenAPI document does not know`)
  const key = `${method} ${pathname} ${status}`
  let parser = parsers.get(key)
  if (!parser) {
    // A document of its own, so that references into the components resolve.
    parser = z.fromJSONSchema(inlined(schema) as Parameters<typeof z.fromJSONSchema>[0])
    parsers.set(key, parser)
  }
  const result = parser.safeParse(body)
  expect(result.success ? [] : [key, ...result.error.issues], key).toEqual([])
}

function inlined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inlined)
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value && typeof value.$ref === 'string') {
    const name = value.$ref.split('/').at(-1)!
    return inlined((document.components.schemas as Record<string, unknown>)[name])
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inlined(inner)]))
}
