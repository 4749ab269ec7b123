import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import { newApp, newUser, openTestService, operator, type TestService } from '../../../test/service.ts'
import { logOf, sealNow } from '../../../test/proofs/seal-now.ts'
import { readPublicKey } from '../../actions/proofs/checkpoint.ts'
import { upsertPublished, upsertUnpublished } from '../../store/proofs/publications.ts'
import { checkBooks } from '../../actions/money/check-books.ts'
import { grantBonus } from '../../actions/money/grant-bonus.ts'
import { longRunning } from '../../store/connection/database.ts'

let rig: TestService
let viewer: TestOperator
let walletId: string

beforeAll(async () => {
  rig = await openTestService()
  viewer = await newOperator(rig, 'viewer')
  walletId = (await newUser(rig.service, await newApp(rig.service))).userId
  const bonus = { walletId, amountMinor: 123_456n, referenceId: 'b', reason: 'x' }
  await grantBonus(rig.service, operator, bonus)
})
afterAll(() => rig.close())

/** The text of the page, after every part of the check has run. */
async function readPage(changes = 'only_row = true'): Promise<string> {
  const { pool } = rig.service.db
  await pool.query(
    `update books_check set next_sums_at = '-infinity', next_pass_at = '-infinity', next_slice_at = '-infinity'`,
  )
  await checkBooks(longRunning(rig.service))
  await pool.query(`update books_check set ${changes}`)
  const html = await (await viewer.get('/admin/books')).text()
  return html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[.,:)])/g, '')
}

test('before the first check ends the page says that it is running', async () => {
  const html = await (await viewer.get('/admin/books')).text()
  expect(html).toContain('The first check is running')
})

test('the page is green, and says up to when and how fast it was checked', async () => {
  const text = await readPage()
  expect(text).toContain('The books are right')
  expect(text).toMatch(/Every entry up to \S+ \S+ UTC was checked, \d+ s ago/)
  expect(text).toContain('The last pass checked 1 changed wallet with 1 entry in')
  expect(text).toContain('1 wallet with 1 entry in')
  expect(text).toContain('Wallets hold $1,234.56, positions are −$1,234.56')
})

test('the page is yellow when the last check is old, and says for how long', async () => {
  const text = await readPage(`checked_up_to = now() - interval '7 minutes'`)
  expect(text).toContain('The check of the books is late')
  expect(text).toContain('the last check was 7 min ago')
  expect(text).not.toContain('The books are right')
})

test('the page is red in money, names the wallet and its user, and leads to the runbook', async () => {
  await rig.service.db.pool.query('update wallets set balance = balance + 1001 where id = $1', [walletId])
  const text = await readPage()
  expect(text).toContain('The books are wrong')
  expect(text).toContain('docs/operations/runbooks.md#the-books-are-wrong')
  expect(text).toContain('A balance is not the sum of its entries')
  expect(text).toContain(`Ada Lovelace (${walletId}@example.com): Wallet ${walletId}: its balance is $1,244.57, but`)
  expect(text).toContain('Σ wallets + Σ positions = $10.01')
  expect(await (await viewer.get('/admin/books')).text()).toContain(`href="/admin/wallets/${walletId}"`)
})

/** What the page says of the log. */
async function readLog(reader: TestOperator): Promise<string> {
  const html = await (await reader.get('/admin/books')).text()
  return html
    .slice(html.indexOf('id="log"'))
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
}

test('the page shows the seal and the key, and the checkpoint can be downloaded', async () => {
  expect((await viewer.get('/admin/books/checkpoint')).headers.get('location')).toBe('/admin/books')
  expect(await readLog(viewer)).toContain('Nothing is sealed yet')
  const { size, note } = await sealNow(rig.service)
  const page = await readLog(viewer)
  expect(page).toMatch(/The books were sealed \d+ s ago/)
  expect(page).toContain('Checkpoints stay in the database')
  expect(page).toContain(await readPublicKey(rig.service, await logOf(rig.service)))
  const file = await viewer.get('/admin/books/checkpoint')
  expect(await file.text()).toBe(note)
  expect(file.headers.get('content-disposition')).toContain(`checkpoint-${size}.txt`)
})

test('the page shows each target without its token, and a contradiction in red', async () => {
  const other = await openTestService({ CHECKPOINTS: '/mnt/none/,https://log.example/keep/t0ken?key=hunter2' })
  try {
    const reader = await newOperator(other, 'viewer')
    const { pool } = other.service.db
    const [folder, address] = other.service.config.checkpointTargets
    const { size, origin } = await sealNow(other.service)
    expect(await readLog(reader)).toContain('No checkpoint was published there yet.')
    await upsertUnpublished(pool, folder!.id, { error: 'The folder is not there.', contradiction: null })
    await upsertPublished(pool, address!.id, { origin, size })
    const failing = await readLog(reader)
    expect(failing).toContain('/mnt/none/ fails')
    expect(failing).toContain('The folder is not there.')
    expect(failing).toContain('https://log.example/keep/…')
    expect(failing).not.toContain('t0ken')
    expect(failing).not.toContain('hunter2')
    await upsertUnpublished(pool, address!.id, { error: 'x', contradiction: 'It has another checkpoint.' })
    expect(await readLog(reader)).toContain('https://log.example/keep/… contradicts the books')
    expect(await (await reader.get('/admin/overview')).text()).toContain('contradicted')
  } finally {
    await other.close()
  }
})
