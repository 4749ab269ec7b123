/** Every problem that the command line can solve, produced and solved with the commands of docs/operations/runbooks.md. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { variableNames } from '../../src/config.ts'
import { postForService } from '../../src/actions/money/post.ts'
import { freezeWallet } from '../../src/actions/money/manage-wallets.ts'
import { createOperator } from '../../src/actions/operators/manage-operators.ts'
import { addEndpoint, pingApp } from '../../src/actions/webhooks/manage-endpoints.ts'
import { findEndpoint } from '../../src/store/events/endpoints.ts'
import { journalPing } from '../../src/store/events/journal.ts'
import { numberEvents } from '../../src/store/events/number-events.ts'
import { callCommand } from '../command.ts'
import { newAppWithEvents } from '../events/rig.ts'
import { newClient, type Client } from '../client.ts'
import {
  newApp,
  newUser,
  openTestService,
  operator,
  secretsKey,
  type Credentials,
  type TestService,
} from '../service.ts'
import { play, stepsOf } from './runbooks.ts'

setDefaultTimeout(180_000)

let opened: TestService
let app: Credentials
let client: Client
let folder: string

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  folder = await mkdtemp(join(tmpdir(), 'billfold-runbooks-'))
})
afterAll(async () => {
  await opened.close()
  await rm(folder, { recursive: true })
})

const played = (name: string, variables: Record<string, string>) => {
  const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey, DEMO: '0' }
  return play(name, environment, { FOLDER: folder, ...variables })
}

const newWallet = () => newUser(opened.service, app)
const wallet = async (id: string) => (await client.wallet(id)).body

test('a double charge is claimed', async () => {
  const { serviceUserId } = await newWallet()
  await client.credit(serviceUserId, 20)
  await client.debit(serviceUserId, 5, 'order-1001')
  // A repeat moves nothing; the same debit under another reference is the double charge.
  await client.debit(serviceUserId, 5, 'order-1001')
  const second = (await client.debit(serviceUserId, 5, 'order-1001-again')).body
  const variables = {
    WALLET: serviceUserId,
    ACCOUNT: `app:${app.clientId}`,
    TRANSACTION: String(second['transactionId']),
  }
  const said = await played('double-charge', variables)
  expect(said).toHaveLength(stepsOf('A double charge is claimed').commands)
  const { transactions } = said[0]!.json as { transactions: { referenceId: string; amount: number }[] }
  expect(transactions.filter(({ amount }) => amount === -5).map(({ referenceId }) => referenceId)).toEqual([
    'order-1001-again',
    'order-1001',
  ])
  expect(said.map(({ exitCode }) => exitCode)).toEqual([0, 0])
  expect(await wallet(serviceUserId)).toMatchObject({ balance: 15, isActive: true })
})

test('a secret has leaked', async () => {
  const leaked = await newApp(opened.service)
  const { serviceUserId } = await newUser(opened.service, leaked)
  const listed = await callCommand(['app', 'show', leaked.clientId, '--json'], { DATABASE_URL: opened.databaseUrl })
  const { secrets } = JSON.parse(listed.stdout) as { secrets: { id: string }[] }
  const said = await played('secret-leaked', { CLIENT_ID: leaked.clientId, SECRET_ID: secrets[0]!.id })
  expect(said).toHaveLength(stepsOf('A secret has leaked').commands)
  expect(said.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
  const clientSecret = String(said[1]!.json['clientSecret'])
  const renewed = newClient(opened.app.fetch, { ...leaked, clientSecret })
  while ((await newClient(opened.app.fetch, leaked).wallet(serviceUserId)).status !== 401) await Bun.sleep(50)
  expect((await renewed.wallet(serviceUserId)).status).toBe(200)
})

test('a wallet is frozen', async () => {
  const { userId, serviceUserId } = await newWallet()
  await client.credit(serviceUserId, 5)
  await freezeWallet(opened.service, operator, userId, 'stolen phone')
  expect((await client.debit(serviceUserId, 1)).status).toBe(403)
  const said = await played('wallet-frozen', { WALLET: serviceUserId })
  expect(said).toHaveLength(stepsOf('A wallet is frozen').commands)
  expect(said[0]!.json).toMatchObject({ isActive: false, frozenReason: 'stolen phone' })
  expect((await client.debit(serviceUserId, 1)).status).toBe(200)
})

test('a charge-back after spending', async () => {
  const { userId, serviceUserId } = await newWallet()
  const card = { walletId: userId, counterAccount: 'cards', description: null } as const
  await postForService(opened.service, { ...card, amountMinor: 2500n, referenceType: 'TOPUP', referenceId: userId })
  await client.debit(serviceUserId, 20)
  const dispute = {
    ...card,
    amountMinor: -2500n,
    isReversal: true,
    referenceType: 'TOPUP_DISPUTE',
    referenceId: userId,
  }
  await postForService(opened.service, dispute)
  expect(await wallet(serviceUserId)).toMatchObject({ balance: -20, isActive: false })
  const said = await played('charge-back', { WALLET: serviceUserId, DEBT: '20.00' })
  expect(said).toHaveLength(stepsOf('A charge-back after spending').commands)
  expect(said[0]!.json).toMatchObject({ balance: -20 })
  expect(await wallet(serviceUserId)).toMatchObject({ balance: 0, isActive: true })
})

test('an operator has left', async () => {
  const person = (email: string) =>
    createOperator(opened.service, operator, { email, name: 'Eve', password: 'a long enough password', role: 'admin' })
  await person('stays@example.com')
  await person('eve@example.com')
  const said = await played('operator-left', { OPERATOR: 'eve@example.com' })
  expect(said).toHaveLength(stepsOf('An operator has left').commands)
  expect(said.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
  const { rows } = await opened.service.db.pool.query<{ email: string; is_active: boolean }>(
    'select email, is_active from operators order by email',
  )
  expect(rows).toEqual([
    { email: 'eve@example.com', is_active: false },
    { email: 'stays@example.com', is_active: true },
  ])
})

async function newEndpoint(events: number): Promise<{ clientId: string; id: string }> {
  const { clientId } = await newAppWithEvents(opened.service)
  for (let i = 1; i < events; i++) await pingApp(opened.service, operator, clientId)
  await numberEvents(opened.service.db)
  const url = 'https://shop.example/hooks'
  const added = await addEndpoint(opened.service, operator, clientId, { url, types: null })
  if (added.kind !== 'added') throw new Error(added.kind)
  return { clientId, id: added.id }
}

async function checkOfEvents() {
  const [said] = await played('events-unnumbered', {})
  const { checks } = said!.json as { checks: { name: string; state: string; fix?: string }[] }
  return checks.find(({ name }) => name === 'Events')!
}

test('events get no numbers', async () => {
  const { clientId } = await newEndpoint(1)
  await journalPing(opened.service.db.pool, clientId)
  await opened.service.db.pool.query(`update journal set at = now() - interval '1 minute' where awaits_number`)
  const { state, fix } = await checkOfEvents()
  expect([state, fix]).toEqual(['bad', 'docs/operations/runbooks.md#events-get-no-numbers.'])
  await numberEvents(opened.service.db)
  expect((await checkOfEvents()).state).toBe('good')
})

test('a webhook endpoint fails', async () => {
  const { clientId, id } = await newEndpoint(1)
  await opened.service.db.pool.query(
    `update endpoints set disabled_at = now(), disabled_for = 'failing', failing_since = now(), failed_events = 3 where id = $1`,
    [id],
  )
  const [listed, enabled] = await played('endpoint-fails', { CLIENT_ID: clientId, ENDPOINT: id })
  expect(listed!.json).toMatchObject({ endpoints: [{ id, disabledFor: 'failing' }] })
  expect([enabled!.exitCode, enabled!.json]).toEqual([0, { id, isChanged: true, isDisabled: false }])
  expect(await findEndpoint(opened.service.db.pool, id)).toMatchObject({ failingSince: null, failedEvents: 0 })
})

test('an app says it missed an event', async () => {
  const { clientId, id } = await newEndpoint(3)
  const variables = { CLIENT_ID: clientId, ENDPOINT: id, FIRST: '2', LAST: '3' }
  const [listed, replayed] = await played('missed-event', variables)
  expect(listed!.json).toMatchObject({ last: 3 })
  expect([replayed!.exitCode, replayed!.json]).toEqual([0, { id, first: 2, last: 3 }])
})

test('the books are wrong', async () => {
  const { userId, serviceUserId } = await newWallet()
  await client.credit(serviceUserId, 7)
  await opened.service.db.pool.query('update wallets set balance = balance + 100 where id = $1', [userId])
  const said = await played('books-wrong', { WALLET: serviceUserId })
  expect(said).toHaveLength(stepsOf('The books are wrong').commands)
  expect(said.map(({ exitCode }) => exitCode)).toEqual([0, 0, 1])
  expect(said[2]!.json).toMatchObject({ isExact: false })
  expect((said[2]!.json as { found: { walletId: string }[] }).found[0]!.walletId).toBe(userId)
  // The sum of the transfers is the right balance.
  await opened.service.db.pool.query(
    'update wallets set balance = (select sum(amount) from transfers where wallet_id = $1) where id = $1',
    [userId],
  )
  const again = await callCommand(['verify', '--json'], { DATABASE_URL: opened.databaseUrl })
  expect(JSON.parse(again.stdout)).toMatchObject({ isExact: true })
})

test('the table of settings has every setting, and no other', async () => {
  const text = await readFile(new URL('../../docs/operations/settings.md', import.meta.url), 'utf8')
  const chapter = text.split('\n## Settings\n')[1]!.split('\n## ')[0]!
  const rows = [...chapter.matchAll(/^\| (`[^|]*`) *\|/gm)].map(([, cell]) => cell!)
  const named = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
  expect(named.toSorted()).toEqual([...variableNames].toSorted())
})
