import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { ERROR_CODES } from '../../sdk/contract.ts'
import { openTestService, type TestService } from '../../test/service.ts'

const committed = new URL('./openapi.json', import.meta.url)

let served: string
let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
  const response = await opened.app.fetch(new Request('http://billfold.test/api/openapi.json'))
  served = `${JSON.stringify(await response.json(), null, 2)}\n`
  if (process.env['UPDATE']) await writeFile(committed, served)
})
afterAll(() => opened.close())

test('the committed OpenAPI document is the one that is served (UPDATE=1 writes it)', async () => {
  expect(served).toBe(await readFile(committed, 'utf8'))
})

type Operation = {
  operationId: string
  parameters?: { name: string; description?: string }[]
  requestBody?: { content: { 'application/json': { example?: object } } }
  responses: Record<string, { content: Record<string, { example?: unknown; schema: object }> }>
}

test('every operation has an id of its own and an example of its answer, and every POST one of its body', () => {
  const { paths } = JSON.parse(served) as { paths: Record<string, Record<string, Operation>> }
  const operations = Object.values(paths).flatMap((path) => Object.entries(path))
  expect(operations.length).toBeGreaterThan(5)
  expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(operations.length)
  for (const [, { operationId, responses, requestBody }] of operations) {
    const [success] = Object.keys(responses)
    expect(Object.values(responses[success!]!.content)[0]?.example, operationId).toBeDefined()
    if (requestBody) expect(requestBody.content['application/json'].example, operationId).toBeDefined()
  }
})

test('every code of the contract that a route can answer is in the document', () => {
  const missing = ERROR_CODES.filter((code) => !served.includes(`"${code}"`) && !served.includes(`${code}: `))
  // Decided by the client app itself, or answered by paths and methods that do not exist.
  expect(missing.filter((code) => !['ACCOUNT_NOT_LINKED', 'METHOD_NOT_ALLOWED', 'NOT_FOUND'].includes(code))).toEqual(
    [],
  )
})
