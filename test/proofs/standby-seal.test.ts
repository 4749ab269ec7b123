/** With a synchronous standby, only what has reached it is signed. A real primary and standby, and a wire that is cut. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { verifyProof } from '../../sdk/verify.ts'
import { readPublicKey } from '../../src/actions/proofs/checkpoint.ts'
import { proveEntry } from '../../src/actions/proofs/prove-entry.ts'
import { verifyLog } from '../../src/actions/proofs/verify-log.ts'
import { closeService, openService, type Service } from '../../src/actions/service.ts'
import { buildApp } from '../../src/app.ts'
import { parseConfig } from '../../src/config.ts'
import { openLog } from '../../src/platform/log.ts'
import { openMetrics } from '../../src/platform/metrics.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { newClient } from '../client.ts'
import { newestSigned } from '../sealed-books.ts'
import { newApp, newUser, secretsKey } from '../service.ts'
import { onServer, startPair, type Pair } from '../standby.ts'
import { logOf, sealNow } from './seal-now.ts'

setDefaultTimeout(300_000)

let pair: Pair
let service: Service

beforeEach(async () => {
  pair = await startPair()
  const config = parseConfig({ DEMO: '0', LOG_LEVEL: 'silent', SECRETS_KEY: secretsKey })
  const log = openLog(config.logLevel, () => {})
  service = openService({ config, db: openDatabase(pair.primary), log, metrics: openMetrics(), now: () => new Date() })
})

afterEach(async () => {
  await pair.close()
  await closeService(service)
  await service.db.pool.end()
})

/** One number of the primary, which has also what the standby lacks. */
const onPrimary = async (sql: string) =>
  await onServer(pair.asAdmin, async (admin) => {
    const { rows } = await admin.query<{ count: number }>(sql)
    return rows[0]!.count
  })

const countEntries = async () => await onPrimary('select count(*)::int as count from transfers')
const countLeaves = async () => await onPrimary('select size::int as count from log_state')
const countSigned = async () => await onPrimary('select count(*)::int as count from log_checkpoints')

/**
 * Ends every wait for the standby, as an operator may: the commit is then on the primary alone. Otherwise nothing would get as far as
 * the signature while the standby is away.
 */
function startCancelling() {
  const state = { isOn: true }
  const running = onServer(pair.asAdmin, async (admin) => {
    const sql = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and pid <> pg_backend_pid()`
    while (state.isOn) {
      await admin.query(sql)
      await Bun.sleep(10)
    }
  })
  return async () => {
    state.isOn = false
    await running
  }
}

async function repeatUntil(isDone: () => Promise<boolean>, attempt: () => Promise<unknown>): Promise<void> {
  while (!(await isDone())) {
    await attempt().catch(() => {})
    await Bun.sleep(20)
  }
}

test('while the standby is away nothing is signed, and when it is back everything is', async () => {
  const app = await newApp(service)
  const user = await newUser(service, app)
  const client = newClient(buildApp(service).fetch, app)
  await client.credit(user.serviceUserId, 5, 'first')
  await sealNow(service)
  const [signed, leaves] = [await countSigned(), await countLeaves()]

  pair.separate()
  const stopCancelling = startCancelling()
  const second = { walletId: user.userId, sequence: 2 }
  // The entry and its leaf get as far as the primary, and each of these calls fails: none of it is on the standby.
  await repeatUntil(
    async () => (await countEntries()) === 2,
    async () => await client.credit(user.serviceUserId, 7, 'second'),
  )
  await repeatUntil(
    async () => (await countLeaves()) > leaves,
    async () => await proveEntry(service, second),
  )
  for (let i = 0; i < 5; i++) expect(await proveEntry(service, second).catch(() => 'refused')).toBe('refused')
  // The pass of the job refuses too.
  for (let i = 0; i < 5; i++) expect(await sealNow(service).catch(() => 'refused')).toBe('refused')
  expect([await countSigned(), (await newestSigned(service)).size]).toEqual([signed, leaves])
  await stopCancelling()

  pair.reunite()
  let file: string | undefined
  await repeatUntil(
    () => Promise.resolve(file !== undefined),
    async () => {
      const result = await proveEntry(service, second)
      if (result.kind === 'proof') ({ file } = result)
    },
  )
  const keys = [await readPublicKey(service, await logOf(service))]
  expect(await verifyProof(file!, { keys })).toMatchObject({ ok: true, entry: { sequence: 2, amountMinor: 700n } })
  const newest = await newestSigned(service)
  expect(newest.size).toBeGreaterThan(leaves)

  // What was signed is on the standby when it takes over.
  await pair.failOver()
  const { pool } = openDatabase(pair.standby).longRunning
  try {
    expect(await Array.fromAsync(verifyLog(pool, newest, service.config.currency.code))).toEqual([])
  } finally {
    await pool.end()
  }
})
