/** The continuous check compares the books with the newest checkpoint: what was rewritten below it turns red, and nothing else does. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { checkBooks, healthOf } from '../../src/actions/money/check-books.ts'
import { measureLog } from '../../src/actions/proofs/log-metrics.ts'
import { readLogSeed } from '../../src/actions/proofs/checkpoint.ts'
import { newKeySeed, signNote } from '../../src/proof/sign-note.ts'
import { getBooksState, type Problem } from '../../src/store/verify/books-check.ts'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { startProcess } from '../process.ts'
import { newApp, newUser, openTestService, secretsKey, type TestService, type TestUser } from '../service.ts'
import { queryEach } from '../sealed-books.ts'
import { logOf, newestOf, sealNow } from './seal-now.ts'

setDefaultTimeout(180_000)

let opened: TestService
let ann: TestUser
const pool = () => opened.service.db.pool

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  const client = newClient(opened.app.fetch, app)
  ann = await newUser(opened.service, app)
  for (let i = 1; i <= 5; i++) await client.credit(ann.serviceUserId, i)
  await sealNow(opened.service)
  // Above the checkpoint: honest work.
  await client.debit(ann.serviceUserId, 1)
})
afterAll(async () => await opened.close())

/** A whole comparison, from the first leaf to the last wallet. */
async function compare(): Promise<readonly Problem[]> {
  await pool().query('update books_check set log_cursor = null, log_checked_at = null')
  for (;;) {
    await pool().query('update books_check set next_log_at = now()')
    await checkBooks(opened.service)
    const state = await getBooksState(pool())
    if (state.logCheckedAt !== null) return state.problems.filter(({ check }) => check.startsWith('sealed-'))
  }
}

/** As the owner of the tables can: without the triggers that refuse it. */
async function rewrite(table: string, sql: string, values: unknown[] = []): Promise<void> {
  await queryEach(pool(), `grant all on ${table} to current_user; alter table ${table} disable trigger user`)
  await pool().query(sql, values)
  await pool().query(`alter table ${table} enable trigger user`)
}

test('nothing is found where nothing was rewritten', async () => {
  expect(await compare()).toEqual([])
  const state = await getBooksState(pool())
  expect(state.logCheckedSize).toBe((await newestOf(opened.service)).size)
  await measureLog(opened.service)
  const text = await opened.service.metrics.registry.metrics()
  expect(text).toMatch(/^billfold_log_contradictions 0$/m)
  expect(text).toMatch(/^billfold_log_seal_age_seconds \d/m)
  expect(text).toMatch(/^billfold_log_publication_late_seconds 0$/m)
  expect(text).toMatch(/^billfold_log_incarnations 0$/m)
})

test('a text that no other check reads is named with its wallet and entry, and stays red until it is put back', async () => {
  const change = 'update transfers set description = $3 where wallet_id = $1 and sequence = $2'
  await rewrite('transfers', change, [ann.userId, 3, 'another text'])
  const found = await compare()
  expect(found).toMatchObject([{ check: 'sealed-entry', walletId: ann.userId, sequence: 3 }])
  expect(found[0]!.message).toBe(`Wallet ${ann.userId}, entry 3: it is not what was sealed.`)
  // The other parts of the check do not clear it.
  await pool().query('update books_check set next_pass_at = now(), next_slice_at = now(), cursor = null')
  await checkBooks(opened.service)
  const state = await getBooksState(pool())
  expect(state.problems).toHaveLength(1)
  expect(healthOf(state)).toBe('wrong')
  expect(await compare()).toMatchObject([{ foundAt: found[0]!.foundAt }])
  await measureLog(opened.service)
  expect(await opened.service.metrics.registry.metrics()).toMatch(/^billfold_log_contradictions 1$/m)
  await rewrite('transfers', change, [ann.userId, 3, null])
  expect(await compare()).toEqual([])
})

test('a changed audit record is named', async () => {
  const { rows } = await pool().query<{ id: string }>('select id from audit order by at limit 1')
  const { id } = rows[0]!
  await rewrite('audit', `update audit set actor = actor || 'x' where id = $1`, [id])
  expect(await compare()).toMatchObject([
    { check: 'sealed-record', message: `Audit record ${id} is not what was sealed.` },
  ])
  await rewrite('audit', `update audit set actor = left(actor, -1) where id = $1`, [id])
  expect(await compare()).toEqual([])
})

test('a log that was made to agree with other books is not the signed one', async () => {
  const { rows } = await pool().query<{ hash: Buffer }>('select hash from log_leaves where number = 0')
  await rewrite('log_leaves', `update log_leaves set hash = sha256(hash) where number = 0`)
  expect(await compare()).toContainEqual(expect.objectContaining({ check: 'sealed-log' }))
  await rewrite('log_leaves', `update log_leaves set hash = $1 where number = 0`, [rows[0]!.hash])
  expect(await compare()).toEqual([])
})

test('a checkpoint that another key signed is no checkpoint of the log', async () => {
  const { origin, size, note } = await newestOf(opened.service)
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  const forged = await signNote(text, origin, newKeySeed())
  const change = 'update log_checkpoints set note = $3 where origin = $1 and size = $2'
  await rewrite('log_checkpoints', change, [origin, size, forged])
  expect(await compare()).toContainEqual(
    expect.objectContaining({ message: 'The newest checkpoint in the database is not signed by the log.' }),
  )
  await rewrite('log_checkpoints', change, [origin, size, note])
  expect(await signNote(text, origin, await readLogSeed(opened.service, await logOf(opened.service)))).toBe(note)
})

test('two processes find it too, and report it once', async () => {
  await rewrite('transfers', 'update transfers set description = $2 where wallet_id = $1 and sequence = 2', [
    ann.userId,
    'x',
  ])
  await pool().query(`update books_check set log_cursor = null, next_log_at = now(), problems = '[]'`)
  const environment = {
    DATABASE_URL: opened.databaseUrl,
    SECRETS_KEY: secretsKey,
    LOG_LEVEL: 'error',
    // It is in the name of the log.
    PUBLIC_URL: opened.service.config.publicUrl,
  }
  const processes = await Promise.all([startProcess(environment), startProcess(environment)])
  try {
    const names = async () =>
      (await getBooksState(pool())).problems.map(({ check, sequence }) => `${check} ${sequence}`)
    await eventually(async () => (await names()).includes('sealed-entry 2'), true)
    const lines = () =>
      processes.flatMap((each) => each.output().split('\n')).filter((line) => line.includes('entry 2: it'))
    await eventually(() => lines().length, 1)
  } finally {
    await Promise.all(processes.map((each) => each.stop()))
  }
})
