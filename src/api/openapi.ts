/** The OpenAPI document, made from the schemas that validate. */
import { z } from 'zod'
import { ERROR_MEANINGS, type ErrorCode } from '../../sdk/contract.ts'
import type { Service } from '../actions/service.ts'
import { answer, statusOf } from './reply.ts'
import type { Route } from './route.ts'

type Json = Record<string, unknown>

export function openapiRoute(_service: Service, routes: readonly Route[]): Route {
  let document: Json | undefined
  return {
    method: 'GET',
    path: '/api/openapi.json',
    tag: 'Operations',
    summary: 'This description of the API',
    output: z.looseObject({ openapi: z.string() }),
    errors: [],
    example: { output: { openapi: '3.1.0' } },
    handle: async () => answer((document ??= openapi(routes))),
  }
}

function openapi(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Billfold',
      version: '1.1.0',
      description: 'Wallet balances and an exact ledger, over plain HTTP. Money is JSON numbers in major units.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: [
      { name: 'Server', description: 'For the backends of client apps only.' },
      { name: 'Widget', description: 'Sessions, made by a backend; and the calls of the hosted pages.' },
      { name: 'Operations', description: 'For those who run the service.' },
    ],
    paths,
    components: { schemas: { Error: errorSchema } },
  }
}

function operation(route: Route): Json {
  const { tag, summary, description, method } = route
  const parameters = [...(method === 'GET' ? parametersOf(route.input) : []), ...parametersOf(route.query)]
  return {
    tags: [tag],
    summary,
    ...(description ? { description } : {}),
    operationId: operationId(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(method === 'POST' && route.input ? { requestBody: requestBody(route) } : {}),
    responses: responses(route),
  }
}

function operationId({ method, path }: Route): string {
  const words = path.split(/[/.-]/).filter((word) => word && word !== 'api')
  return [method.toLowerCase(), ...words]
    .map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('')
}

function parametersOf(schema: z.ZodType | undefined): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = jsonSchema(schema) as { properties?: Json; required?: string[] }
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as Json
    return { name, in: 'query', required: required.includes(name), description, schema: rest }
  })
}

function requestBody({ input, example }: Route): Json {
  const credentials = { clientId: 'app_0123456789abcdef0123', clientSecret: 'bfs_…' }
  const hasCredentials = 'clientSecret' in ((jsonSchema(input!) as { properties?: Json }).properties ?? {})
  return {
    required: true,
    content: {
      'application/json': {
        schema: jsonSchema(input!),
        example: { ...(hasCredentials ? credentials : {}), ...example.input },
      },
    },
  }
}

function responses({ output, example, errors, status = 200, accepted, mediaType = 'application/json' }: Route): Json {
  const byStatus = Map.groupBy(new Set(errors), statusOf)
  return {
    [status]: {
      description: status === 202 ? 'It is under way.' : 'It worked.',
      content: { [mediaType]: { schema: jsonSchema(output), example: example.output } },
    },
    ...(accepted
      ? { 202: { description: 'It is under way.', content: { 'application/json': { schema: jsonSchema(accepted) } } } }
      : {}),
    ...Object.fromEntries(
      [...byStatus].sort(([a], [b]) => a - b).map(([status, codes]) => [status, errorResponse(codes)]),
    ),
  }
}

function errorResponse(codes: readonly ErrorCode[]): Json {
  return {
    description: codes.map((code) => `${code}: ${ERROR_MEANINGS[code]}`).join('\n\n'),
    content: {
      'application/json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { enum: codes } } }] },
      },
    },
  }
}

function jsonSchema(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', reused: 'inline', unrepresentable: 'any' })
  return rest
}

const errorSchema: Json = {
  type: 'object',
  required: ['error', 'code', 'requestId'],
  properties: {
    error: { type: 'string', description: 'For people' },
    code: { type: 'string', description: 'For programs' },
    requiresAuth: { type: 'boolean', description: 'Present when the user must sign in through the widget' },
    requestId: { type: 'string' },
    fields: { type: 'object', additionalProperties: { type: 'string' }, description: 'What is wrong, by field' },
    balance: { type: 'number' },
    requiredAmount: { type: 'number' },
    shortfall: { type: 'number' },
    declineCode: { type: 'string', description: 'CARD_DECLINED: the card processor’s reason' },
    replayed: { type: 'boolean' },
    mismatch: { type: 'array', items: { type: 'string' } },
  },
}
