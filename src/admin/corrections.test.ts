import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../../test/books.ts'
import { newClient, type Client } from '../../test/client.ts'
import { newOperator, type TestOperator } from '../../test/operator.ts'
import { newApp, newUser, openTestService, type TestService } from '../../test/service.ts'

setDefaultTimeout(180_000)

let rig: TestService
let client: Client
let ada: TestOperator
let bob: TestOperator

beforeAll(async () => {
  rig = await openTestService()
  client = newClient(rig.app.fetch, await newApp(rig.service, { name: 'Fernweh Books' }))
  ada = await newOperator(rig, 'finance')
  bob = await newOperator(rig, 'finance')
})
afterAll(async () => {
  await expectBalancedBooks(rig.service)
  await rig.close()
})

const app = async () => (await rig.service.apps.list())[0]!
const textOf = async (answer: Promise<Response>) => (await (await answer).text()).replace(/\s+/g, ' ')
const plain = (html: string) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')

async function newWallet(amount: number) {
  const user = await newUser(rig.service, await app())
  await client.credit(user.serviceUserId, amount)
  const { body } = await client.debit(user.serviceUserId, 30)
  return { ...user, transaction: String(body['transactionId']), base: `/admin/wallets/${user.userId}/correct` }
}

/** Sends the form, then the confirmation with its hidden fields, as the page does. */
async function order(who: TestOperator, base: string, fields: Record<string, string>) {
  const question = await textOf(who.post(base, fields))
  const hidden = [...question.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
  return Object.fromEntries(hidden.map(([, name, value]) => [name!, value!])) as Record<string, string>
}

test('the form proposes to reverse an entry, and a double click and a reload do it once', async () => {
  const { base, transaction, serviceUserId, userId } = await newWallet(200)
  const form = await textOf(ada.get(`${base}?transaction=${transaction}`))
  expect(form).toContain('value="credit" selected')
  expect(form).toContain('value="30.00"')
  expect(form).toContain(`value="app:${(await app()).clientId}" selected`)
  const account = `app:${(await app()).clientId}`
  const asked = { direction: 'credit', amount: '30', account, transaction, reason: 'Paid twice' }
  const fields = await order(ada, base, asked)
  const answers = await Promise.all([1, 2, 3].map(() => ada.post(`${base}/order`, fields)))
  const places = new Set(answers.map((answer) => answer.headers.get('location')))
  expect([answers.map((answer) => answer.status), places.size]).toEqual([[303, 303, 303], 1])
  expect(await client.balance(serviceUserId)).toBe(200)
  // The ledger and the inspector link the correction and the entry both ways.
  const ledger = await textOf(ada.get(`/admin/wallets/${userId}`))
  const [path] = [...places] as [string]
  const link = path.split('?')[0]!
  expect(ledger.split(`href="${link}"`)).toHaveLength(3)
  expect(plain(ledger)).toContain('corrects a transaction')
  expect(plain(ledger)).toContain('corrected')
  const id = link.split('/').at(-1)!
  const made = await textOf(ada.get(`/admin/references?app=service&type=CORRECTION&id=${id}`))
  expect(made).toContain(`href="${link}"`)
  const shown = plain(await textOf(ada.get(link)))
  expect(shown).toContain(transaction)
  expect(shown).toContain('no approval needed')
})

test('above the limit a second operator approves, the first cannot, and both are named', async () => {
  const { base, serviceUserId } = await newWallet(200)
  const asked = { direction: 'debit', amount: '120', account: 'adjustments', transaction: '', reason: 'A till error' }
  const answer = await ada.post(`${base}/order`, await order(ada, base, asked))
  const link = answer.headers.get('location')!.split('?')[0]!
  expect(await client.balance(serviceUserId)).toBe(170)
  expect(plain(await textOf(bob.get('/admin/corrections')))).toContain('Waiting for a second operator')
  expect(await textOf(ada.get(link))).not.toContain('/approve')
  expect((await ada.post(`${link}/approve`)).status).toBe(409)
  expect((await bob.post(`${link}/withdraw`)).status).toBe(409)
  const clicks = await Promise.all([bob.post(`${link}/approve`), bob.post(`${link}/approve`)])
  expect(clicks.map((click) => click.status)).toEqual([303, 303])
  expect(await client.balance(serviceUserId)).toBe(50)
  const shown = plain(await textOf(ada.get(link)))
  expect(shown).toContain(`Requested by ${ada.name}`)
  expect(shown).toContain(`Approved by ${bob.name}`)
})

test('a refused correction is explained in a sentence, and nothing is recorded as done', async () => {
  const { base, serviceUserId, transaction } = await newWallet(60)
  const good = { direction: 'debit', amount: '5', account: 'adjustments', transaction: '', reason: 'x' }
  const wrongs: [Record<string, string>, string][] = [
    [{ amount: '30.01' }, 'The wallet does not have that much'],
    [{ amount: '0' }, 'Enter an amount above zero'],
    [{ account: 'cards' }, 'Choose an account from the list'],
    [{ transaction: 'txn_1' }, 'Enter txn_ and 32 characters'],
    [{ transaction: `txn_${'0'.repeat(32)}` }, 'This wallet has no such transaction'],
    [{ reason: ' ' }, 'Enter a reason'],
  ]
  for (const [wrong, sentence] of wrongs) {
    const response = await ada.post(base, { ...good, ...wrong })
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(sentence)])
  }
  const tooMuch = { ...good, direction: 'credit', amount: '30.01', transaction, id: crypto.randomUUID() }
  expect(await textOf(ada.post(`${base}/order`, tooMuch))).toContain('more than the transaction moved')
  // The money is spent between the confirmation and the order.
  const fields = await order(ada, base, { ...good, amount: '30' })
  await client.debit(serviceUserId, 10)
  const late = await ada.post(`${base}/order`, fields)
  expect(plain(await textOf(ada.get(late.headers.get('location')!)))).toContain('never puts a wallet below zero')
  expect(await client.balance(serviceUserId)).toBe(20)
})
