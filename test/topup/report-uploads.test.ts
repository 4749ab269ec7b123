/** Report files from outside: they never overrule the card processor, and no file holds the money of an app. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { formTokenOf } from '../../src/actions/operators/manage-sessions.ts'
import { planDays } from '../../src/actions/topups/reconcile.ts'
import { getReconciliationState, listOpenDifferences } from '../../src/store/books/reconciliation.ts'
import { reconcileDay } from '../../src/work/reconcile-day.ts'
import { runDue } from '../../src/work/runner.ts'
import { newClient } from '../client.ts'
import { host, newOperator, type TestOperator } from '../operator.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newUser } from '../service.ts'
import { beginDayThatStays, letPass, topupTables } from '../time.ts'
import { openBench, type Bench } from './rig.ts'

setDefaultTimeout(180_000)

let bench: Bench
let finance: TestOperator
const dayMs = 86_400_000
const head = 'balance_transaction_id,created_utc,reporting_category,currency,gross,fee,payment_intent_id'

beforeAll(async () => {
  bench = await openBench()
  finance = await newOperator(bench.opened, 'finance')
})
afterAll(() => bench.close())

/** Days are counted in the test and in the service, so midnight UTC must not pass between. */
beforeEach(async () => {
  await beginDayThatStays()
  for (const table of ['processor_lines', 'reconciliation_days', 'reconciliation_differences', 'work'])
    await query(`delete from ${table}`)
  await letPass(bench.service.db.pool, 400 * dayMs, topupTables)
  bench.standIn.state.letPass(400 * dayMs)
})

type Row = Record<string, unknown>
const query = async (sql: string, values: unknown[] = []) => (await bench.service.db.pool.query<Row>(sql, values)).rows
const dayBefore = (days: number) => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10)

async function paid(amount = 25): Promise<string> {
  const payer = await bench.newPayer()
  const id = await payer.begin(amount)
  bench.standIn.state.pay(id)
  await payer.confirm(id)
  return id
}

async function readFromProcessor(): Promise<void> {
  await planDays(bench.service)
  await query(`update work set due_at = now()`)
  for (let i = 0; i < 10; i++) await runDue(bench.service, reconcileDay)
}

async function passTwoDays(): Promise<void> {
  await letPass(bench.service.db.pool, 2 * dayMs, topupTables)
  bench.standIn.state.letPass(2 * dayMs)
}

const upload = async (...lines: string[]) =>
  await finance.post('/admin/reconciliation/file', { report: [head, ...lines].join('\n') })
const differences = async () =>
  (await listOpenDifferences(bench.service.db.pool, 100)).map(
    (each) => `${each.kind} ${each.paymentIntentId} ${each.processorMinor} ${each.ledgerMinor}`,
  )
const lines = async () =>
  await query('select id, amount, payment_intent_id as payment from processor_lines order by id')
const openCount = async () => (await getReconciliationState(bench.service.db.pool)).openDifferences

test('a file does not overrule a booking of the processor: the contradiction is a difference with the operator’s name', async () => {
  const id = await paid(25)
  await passTwoDays()
  await readFromProcessor()
  const before = await lines()
  const [{ booking, at }] = (await query(
    `select id as booking, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as at from processor_lines`,
  )) as [{ booking: string; at: string }]
  const sent = await upload(`${booking},${at},charge,usd,1.00,1.03,${id}`)
  expect(sent.status).toBe(303)
  expect(await lines()).toEqual(before)
  expect([await differences(), await openCount()]).toEqual([[], 1])
  const html = await (await finance.get('/admin/reconciliation')).text()
  for (const shown of [booking, finance.name, 'charge of 25.00', 'charge of 1.00']) expect(html).toContain(shown)

  // The same file again, one after the other and at once, adds nothing.
  await upload(`${booking},${at},charge,usd,1.00,1.03,${id}`)
  await Promise.all([1, 2].map(() => upload(`${booking},${at},charge,usd,1.00,1.03,${id}`)))
  expect([await lines(), await openCount()]).toEqual([before, 1])

  const [, path] = /href="(\/admin\/reconciliation\/contradiction\?id=[^"]+)"/.exec(html)!
  const page = await (await finance.get(path!)).text()
  for (const shown of [booking, finance.name, 'charge of 1.00']) expect(page).toContain(shown)
  const fields = { id: path!.split('=')[1]!, reason: 'A file of the test account' }
  expect((await finance.post('/admin/reconciliation/contradiction', { ...fields, reason: '' })).status).toBe(422)
  expect((await finance.post('/admin/reconciliation/contradiction', fields)).status).toBe(303)
  expect((await finance.post('/admin/reconciliation/contradiction', fields)).status).toBe(409)
  expect(await openCount()).toBe(0)
  await upload(`${booking},${at},charge,usd,1.00,1.03,${id}`)
  expect(await openCount()).toBe(0)
})

test('an invented booking on a day that the processor has answered for closes no difference', async () => {
  const id = await paid(25)
  const { bookings } = bench.standIn.state
  bookings.splice(bookings.length - 1, 1)
  await passTwoDays()
  await readFromProcessor()
  expect(await differences()).toEqual([`charge ${id} 0 2500`])
  expect((await upload(`txn_invented,${dayBefore(2)} 12:00:00,charge,usd,25.00,0,${id}`)).status).toBe(303)
  expect([await differences(), await lines(), await openCount()]).toEqual([[`charge ${id} 0 2500`], [], 2])
})

test('a file that comes first does not keep the processor from being asked, and its invented booking is found', async () => {
  const id = await paid(25)
  const { bookings } = bench.standIn.state
  bookings.splice(bookings.length - 1, 1)
  await passTwoDays()
  await query('update report_contradictions set resolved_at = now(), resolved_by = $1, resolved_reason = $1', ['test'])
  expect((await upload(`txn_first,${dayBefore(2)} 12:00:00,charge,usd,25.00,0,${id}`)).status).toBe(303)
  expect([await differences(), await openCount()]).toEqual([[], 0])
  await readFromProcessor()
  expect([await differences(), await lines(), await openCount()]).toEqual([[`charge ${id} 0 2500`], [], 2])
  expect(await query('select distinct source from reconciliation_days')).toEqual([{ source: 'processor' }])
})

test('a line dated outside the service’s life is refused with its number, and no day of it becomes due', async () => {
  await paid(25)
  // The deployment of a test starts today, so the first top-up decides.
  await query(`update topups set created_at = greatest(created_at, now() - interval '3 days')`)
  for (const day of ['0026-03-01', '1999-12-31', dayBefore(4), dayBefore(-1), '9999-12-31']) {
    const refused = await upload(
      `txn_ok,${dayBefore(0)} 00:00:00,payout,usd,-1.00,0,`,
      `txn_old,${day} 12:00:00,payout,usd,-1.00,0,`,
    )
    expect([day, refused.status, await refused.text()]).toEqual([
      day,
      422,
      expect.stringContaining(`Line 3: created_utc is on ${day}, not between`),
    ])
  }
  for (const day of ['2000-01-01', dayBefore(4)])
    expect((await finance.post('/admin/reconciliation/day', { day })).status).toBe(422)
  await planDays(bench.service)
  expect(await query('select count(*)::int as count from reconciliation_days')).toEqual([{ count: 7 }])
  expect((await finance.post('/admin/reconciliation/day', { day: dayBefore(3) })).status).toBe(303)
})

test('days that became due long ago are inserted in bounded steps, the newest first', async () => {
  await query(
    `insert into reconciliation_days (day, next_try_at) values ('0026-03-01', 'infinity'), ($1, 'infinity')`,
    [dayBefore(300)],
  )
  await planDays(bench.service)
  const [first] = await query(
    `select count(*)::int as count, max(day)::text as newest, (min(day) filter (where day > $1))::text as oldest from reconciliation_days`,
    [dayBefore(300)],
  )
  expect(first).toMatchObject({ count: 102 })
  for (let i = 0; i < 5; i++) await planDays(bench.service)
  const [all] = await query('select count(*)::int as count from reconciliation_days')
  expect(Number(all!['count'])).toBeLessThan(305)
  expect(await query(`select key from work where kind = 'reconcile-day' and key < '2000'`)).toEqual([])
})

test('a file of another account is refused whole', async () => {
  await paid(25)
  await passTwoDays()
  await readFromProcessor()
  const foreign = Array.from(
    { length: 101 },
    (_, i) => `txn_other_${i},${dayBefore(2)} 12:00:00,charge,usd,1.00,0,pi_other_${i}`,
  )
  const before = [await lines(), await openCount()]
  const refused = await upload(...foreign)
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('another account')])
  expect([await lines(), await openCount()]).toEqual(before)
})

const filled = (...parts: (string | Uint8Array)[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))
const size = 10 * 1024 * 1024 - 1_000
const payout = (i: number) => `txn_${i},${dayBefore(0)} 00:00:00,payout,usd,-1.00,0,\n`

/** Shapes of 10 MB, and how the first problem begins. */
const shapes: readonly (readonly [name: string, file: () => Buffer, problem: string])[] = [
  ['commas', () => filled(','.repeat(size)), 'Line 1: it is longer'],
  ['commas after the names', () => filled(head, '\n', ','.repeat(size)), 'Line 2: it is longer'],
  ['one huge line', () => filled(head, '\n', 'x'.repeat(size)), 'Line 2: it is longer'],
  ['a million short lines', () => filled(head, '\n', 'x\n'.repeat(1_000_000)), 'Line 2: it has 1 cells'],
  ['a quote never closed', () => filled(head, '\n"', 'x\n'.repeat(size / 2)), 'Line 2: it is longer'],
  ['NULs', () => filled(head, '\n', '\0'.repeat(size)), 'Line 2: it contains a NUL'],
  [
    'lone surrogates',
    () => filled(head, '\n', Buffer.alloc(60_000, Buffer.from([0xed, 0xa0, 0x80]))),
    'Line 2: it is not UTF-8',
  ],
  ['UTF-16', () => Buffer.from(`\uFEFF${payout(1).repeat(100_000)}`, 'utf16le'), 'Line 1: the file is UTF-16'],
]

const part = (name: string, more: string) => `--edge\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`
type Upload = { readonly closed: Promise<string>; readonly finish: () => Promise<string> }

/** Sends all but the last byte, so that the service has the rest when the measured part begins. */
async function beginUpload(service: ServiceProcess, file: Buffer): Promise<Upload> {
  const { hostname, port, origin } = new URL(service.url)
  const body = filled(
    part('_token', ''),
    formTokenOf(finance.token),
    '\r\n',
    part('report', '; filename="r.csv"'),
    file,
    '\r\n--edge--\r\n',
  )
  const request = `POST /admin/reconciliation/file HTTP/1.1\r\nHost: ${hostname}:${port}\r\nOrigin: ${origin}\r\nCookie: billfold-session=${finance.token}\r\nContent-Type: multipart/form-data; boundary=edge\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
  const socket: Socket = connect(Number(port), hostname)
  let answer = ''
  const closed = new Promise<string>((resolve, reject) => {
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
  socket.write(request)
  await new Promise((resolve) => socket.write(body.subarray(0, -1), resolve))
  return {
    closed,
    finish: async () => {
      socket.write(body.subarray(-1))
      return await closed
    },
  }
}

const statusOf = (answer: string) => answer.slice(0, 12)

test('while files of 10 MB and of every nasty shape are uploaded, an app’s debits are answered', async () => {
  const { serviceUserId } = await newUser(bench.service, bench.credentials)
  const service = await startProcess({ DATABASE_URL: bench.opened.databaseUrl })
  try {
    const client = newClient(service.send, bench.credentials, service.url)
    await client.credit(serviceUserId, 100_000)
    let debits = 0
    const debitUntil = async (isOver: () => boolean) => {
      let during = 0
      while (!isOver()) {
        expect((await client.debit(serviceUserId, 1)).status).toBe(200)
        debits++
        if (!isOver()) during++
      }
      return during
    }
    const uploadBeside = async (file: Buffer) => {
      const { finish } = await beginUpload(service, file)
      let answer = ''
      const uploading = finish().then((text) => (answer = text))
      const during = await debitUntil(() => answer !== '')
      await uploading
      return { answer, during }
    }
    for (const [name, file, problem] of shapes) {
      const { answer } = await uploadBeside(file())
      expect([name, answer]).toEqual([name, expect.stringMatching(/^HTTP\/1.1 422 /)])
      expect([name, answer]).toEqual([name, expect.stringContaining(problem)])
    }
    // It is read to its last line, which is invalid, in more than a hundred slices. Without turns between them 4 debits were answered.
    const long = filled(
      `${head},description\n`,
      Array.from(
        { length: 95_000 },
        (_, i) => `txn_${i},${dayBefore(0)} 00:00:00,payout,usd,-1.00,0,,"${','.repeat(40)}"\n`,
      ).join(''),
      'x',
    )
    const { answer, during } = await uploadBeside(long)
    expect(answer).toContain('Line 95002: it has 1 cells')
    expect(during).toBeGreaterThan(15)
    expect(await client.balance(serviceUserId)).toBe(100_000 - debits)
    // A third file at once is refused: each holds its bytes in memory.
    const begin = () => beginUpload(service, filled('x'))
    const three = await Promise.all([begin(), begin(), begin()])
    expect(statusOf(await Promise.race(three.map(({ closed }) => closed)))).toBe('HTTP/1.1 429')
    const answers = await Promise.all(three.map(({ finish }) => finish()))
    expect(answers.map(statusOf).toSorted()).toEqual(['HTTP/1.1 422', 'HTTP/1.1 422', 'HTTP/1.1 429'])
    expect(statusOf(await (await begin()).finish())).toBe('HTTP/1.1 422')
  } finally {
    await service.stop()
  }
})

const sendParts = async (by: TestOperator, body: BodyInit) => {
  const headers = {
    origin: host,
    host: new URL(host).host,
    cookie: `billfold-session=${by.token}`,
    'content-type': 'multipart/form-data; boundary=edge',
  }
  return await bench.app.fetch(new Request(`${host}/admin/reconciliation/file`, { method: 'POST', body, headers }))
}

test('a form of many parts is refused before it is split', async () => {
  const parts = `${part('_token', '')}${formTokenOf(finance.token)}\r\n${`${part('x', '')}\r\n`.repeat(100_000)}--edge--\r\n`
  expect((await sendParts(finance, parts)).status).toBe(415)
})

test('an operator without the right is refused before the file is read', async () => {
  const viewer = await newOperator(bench.opened, 'viewer')
  let pulled = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled++
      controller.enqueue(new Uint8Array(65_536))
    },
  })
  const response = await sendParts(viewer, body)
  expect([response.status, pulled < 3]).toEqual([403, true])
})
