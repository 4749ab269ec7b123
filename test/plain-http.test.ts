/** docs/plain-http.md, run: every program, over a network that loses answers; and the client made from the OpenAPI document. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectBalancedBooks } from './books.ts'
import { newClient, type Client } from './client.ts'
import { readGuides, snippetsOf } from './example/snippets.ts'
import { newApp, newUser, openTestService, type Credentials, type TestService } from './service.ts'

setDefaultTimeout(180_000)

const root = new URL('..', import.meta.url).pathname
const snippets = snippetsOf((await readGuides()).filter(({ name }) => name === 'plain-http.md'))

let opened: TestService
let app: Credentials
let client: Client
let server: ReturnType<typeof Bun.serve>
let direct: ReturnType<typeof Bun.serve>
let folder = ''
/** How often the network has seen each debit and credit, by its reference. */
const seen = new Map<string, number>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-plain-http-'))
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: answerBadly })
  direct = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: (request) => opened.app.fetch(request) })
})
afterAll(async () => {
  await server.stop(true)
  await direct.stop(true)
  await expectBalancedBooks(opened.service)
  await opened.close()
  await rm(folder, { recursive: true })
})

/** Of each payment the first answer is lost after the money moved; each refund is first turned away. */
async function answerBadly(request: Request): Promise<Response> {
  const body = request.method === 'POST' ? await request.text() : null
  const { referenceType, referenceId } = JSON.parse(body ?? '{}') as Record<string, string>
  const reference = `${referenceType} ${referenceId}`
  const isFirst = !seen.has(reference)
  seen.set(reference, (seen.get(reference) ?? 0) + 1)
  if (isFirst && referenceType === 'ORDER_REFUND')
    return Response.json({ error: 'busy', code: 'UNAVAILABLE' }, { status: 503, headers: { 'retry-after': '1' } })
  const { method, headers } = request
  const answer = await opened.app.fetch(new Request(request.url, { method, headers, ...(body !== null && { body }) }))
  const isLost = isFirst && referenceType === 'ORDER_PAYMENT' && answer.status === 200
  if (isLost) await new Promise((resolve) => request.signal.addEventListener('abort', resolve))
  return answer
}

async function run(command: string[], environment: Record<string, string> = {}): Promise<string> {
  const { PATH = '', HOME = '' } = process.env
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { PATH, HOME, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return (await child.exited) === 0 ? out : `${out}${err}`
}

/** As the guide has it, but it waits for four seconds and not for ten: an answer is going to be lost. */
const written: Record<string, [from: string, to: string]> = {
  'wallet.sh': ['--max-time 10', '--max-time 4'],
  'wallet.py': ['TIMEOUT_SECONDS = 10', 'TIMEOUT_SECONDS = 4'],
  'wallet.php': ['TIMEOUT_SECONDS = 10', 'TIMEOUT_SECONDS = 4'],
  'wallet.go': ['10 * time.Second', '4 * time.Second'],
  'wallet.ts': ['timeout(10_000)', 'timeout(4_000)'],
}

async function write(file: string): Promise<void> {
  const code = snippets.get(file)!
  const [from, to] = written[file]!
  expect(code.split(from)).toHaveLength(2)
  await Bun.write(join(folder, file), code.replace(from, to))
}

/** Pays and refunds, over the network that loses answers, and reports what the guide says it reports. */
async function expectWholeFlow(file: string, command: string[]): Promise<void> {
  const { serviceUserId } = await newUser(opened.service, app)
  await client.credit(serviceUserId, 100)
  const said = await run([...command, file], {
    BILLFOLD_URL: server.url.origin,
    BILLFOLD_CLIENT_ID: app.clientId,
    BILLFOLD_CLIENT_SECRET: app.clientSecret,
    SERVICE_USER_ID: serviceUserId,
    ORDER_ID: file,
  })
  expect(said.replace(/ws_[0-9a-f-]{36}/, 'ws_…')).toBe(snippets.get('expected')!)
  // Lost, asked for again, and sent again on purpose; turned away, and sent again.
  expect(seen.get(`ORDER_PAYMENT ${file}`)).toBeGreaterThanOrEqual(3)
  expect(seen.get(`ORDER_REFUND ${file}`)).toBeGreaterThanOrEqual(2)
  const { transactions } = (await client.wallet(serviceUserId)).body as { transactions: { type: string }[] }
  expect(transactions.map(({ type }) => type)).toEqual(['CREDIT', 'DEBIT', 'CREDIT'])
}

const languages = [
  ['curl', 'wallet.sh', ['sh']],
  ['python3', 'wallet.py', ['python3']],
  ['php', 'wallet.php', ['php']],
  ['go', 'wallet.go', ['go', 'run']],
] as const

test('every piece of code in the guide “Without the SDK” is run here', () => {
  expect([...snippets.keys()].sort()).toEqual(
    [...Object.keys(written), 'expected', 'generate', 'bulk.sh', 'bulk-answer'].sort(),
  )
})

test('the guide’s many at once are answered as it says, and again the same', async () => {
  const { serviceUserId } = await newUser(opened.service, app)
  await client.credit(serviceUserId, 100)
  await Bun.write(join(folder, 'bulk.sh'), snippets.get('bulk.sh')!)
  const environment = {
    // Straight to the service: the way that loses answers looks for one reference in a body.
    BILLFOLD_URL: direct.url.origin,
    BILLFOLD_CLIENT_ID: app.clientId,
    BILLFOLD_CLIENT_SECRET: app.clientSecret,
    SERVICE_USER_ID: serviceUserId,
  }
  const said = (await run(['sh', 'bulk.sh'], environment)).replace(/txn_[0-9a-f]{32}/, 'txn_…')
  expect(said).toBe(snippets.get('bulk-answer')!)
  const again = (await run(['sh', 'bulk.sh'], environment)).trim().split('\n')
  expect(again.map((line) => (JSON.parse(line) as { replayed?: true }).replayed)).toEqual([true, true, undefined])
  expect(await client.balance(serviceUserId)).toBe(105)
})

for (const [program, file, command] of languages) {
  const isHere = program === 'curl' || Bun.which(program) !== null
  const found = isHere ? test.concurrent : test.skip
  found(`the guide’s ${file} makes every call, and no lost answer costs money (needs ${program})`, async () => {
    await write(file)
    await expectWholeFlow(file, [...command])
  })
}

test.concurrent('a client made from the OpenAPI document has its types checked, and makes every call', async () => {
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const [npx, generator = '', ...rest] = snippets.get('generate')!.trim().split(' ')
  expect([npx, generator]).toEqual(['npx', 'openapi-typescript'])
  const words = rest.map((word) => word.replace('http://127.0.0.1:3000', server.url.origin))
  await run(['node', join(root, 'test/generated-client/node_modules', generator, 'bin/cli.js'), ...words])
  await write('wallet.ts')
  await Bun.write(join(folder, 'mistakes.ts'), mistakes)
  await Bun.write(join(folder, 'tsconfig.json'), JSON.stringify(strict))
  expect(await run([join(root, 'node_modules/.bin/tsc'), '-p', '.'])).toBe('')
  await expectWholeFlow('wallet.ts', [process.execPath])
})

const strict = {
  compilerOptions: {
    target: 'ES2024',
    lib: ['ES2024', 'DOM', 'DOM.Iterable'],
    module: 'ESNext',
    moduleResolution: 'Bundler',
    types: ['bun'],
    strict: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
  },
}

/** Each line must be a mistake to the compiler, or the types would allow anything. */
const mistakes = `
import createClient from 'openapi-fetch'
import type { paths } from './billfold.d.ts'

const client = createClient<paths>({ baseUrl: '' })
const who = { clientId: '', clientSecret: '', serviceUserId: '' }
const payment = { ...who, referenceType: '', referenceId: '' }
// @ts-expect-error there is no such path
await client.GET('/api/server/wallets', {})
// @ts-expect-error the credentials are missing
await client.GET('/api/server/wallet', { params: { query: { serviceUserId: '' } } })
// @ts-expect-error an amount is a number
await client.POST('/api/server/wallet/debit', { body: { ...payment, amount: '1' } })
const { data, error } = await client.POST('/api/server/wallet/debit', { body: { ...payment, amount: 1 } })
// @ts-expect-error there is no such field
data?.balances
// @ts-expect-error there is no such code
error?.code === 'NOT_ENOUGH'
`
