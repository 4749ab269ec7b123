/** Two real services seal one database at once, while proofs are asked of both: one log, without a gap and without a second version. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyProof } from '../../sdk/verify.ts'
import { callCommand } from '../command.ts'
import { newClient, type Client } from '../client.ts'
import { freePort } from '../free-port.ts'
import { startProcess, type ServiceProcess } from '../process.ts'
import { newApp, newUsers, openTestService, secretsKey, type TestService, type TestUser } from '../service.ts'

setDefaultTimeout(300_000)

let opened: TestService
let processes: ServiceProcess[]
let clients: Client[]
let users: TestUser[]
let folder: string

beforeAll(async () => {
  opened = await openTestService()
  folder = await mkdtemp(join(tmpdir(), 'billfold-two-sealers-'))
  // Services of one address, as behind a load balancer: it is in the name of the log.
  const environment = {
    DATABASE_URL: opened.databaseUrl,
    SECRETS_KEY: secretsKey,
    PUBLIC_URL: 'http://wallet.test',
  }
  const ports = [String(await freePort()), String(await freePort())]
  processes = await Promise.all(ports.map(async (PORT) => await startProcess({ ...environment, PORT })))
  const app = await newApp(opened.service)
  clients = processes.map((one, i) => newClient(one.send, app, `http://127.0.0.1:${ports[i]}`))
  users = await newUsers(opened.service, app, 6)
})
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await rm(folder, { recursive: true })
  await opened.close()
})

const query = async <Row extends object>(sql: string) => (await opened.service.db.pool.query<Row>(sql)).rows

/** Passes of the job are due at every look; each process looks every ten seconds. */
async function makeDue(): Promise<number> {
  await query('update books_check set next_pass_at = now()')
  const [row] = await query<{ at: Date | null }>(
    'update log_state set next_pass_at = now() returning sealed_up_to as at',
  )
  return row?.at?.getTime() ?? 0
}

type Proof = { readonly proof: string; readonly key: string }

/** Each client moves money and asks its process for the proof of it at once, until the jobs have ended their passes too. */
async function sealFromBoth(passes: number): Promise<Proof[]> {
  const proofs: Proof[] = []
  const ended = new Set<number>()
  const isDone = () => ended.size > passes && proofs.length >= 40
  const ask = async (client: Client, number: number) => {
    for (let i = 0; !isDone(); i++) {
      const reference = `${number}-${i}`
      const { serviceUserId } = users[(i + number) % users.length]!
      const credited = await client.credit(serviceUserId, 1, reference)
      // A busy machine may answer too late, and the log can be in use for longer than a request waits for it.
      if (credited.status === 503) continue
      expect(credited.status).toBe(200)
      const { status, body } = await client.get('/api/server/proof', { referenceType: 'ORDER', referenceId: reference })
      if (status !== 503) expect([status, proofs.push(body as Proof) > 0]).toEqual([200, true])
    }
  }
  const watch = async () => {
    while (!isDone()) {
      ended.add(await makeDue())
      await Bun.sleep(100)
    }
  }
  await Promise.all([watch(), ...clients.flatMap((client, i) => [ask(client, 2 * i), ask(client, 2 * i + 1)])])
  return proofs
}

test('one log, no gap, no state twice, and every proof and checkpoint of both is right', async () => {
  const proofs = await sealFromBoth(3)
  const [key, ...otherKeys] = new Set(proofs.map((each) => each.key))
  expect(otherKeys).toEqual([])
  for (const { proof } of proofs) expect(await verifyProof(proof, { keys: [key!] })).toMatchObject({ ok: true })

  const [gaps] = await query('select max(number) + 1 - count(*) as missing, min(number) as first from log_leaves')
  expect(gaps).toEqual({ missing: 0n, first: 0n })
  const doubled = `select kind, subject, size from log_leaves where subject is not null group by 1, 2, 3 having count(*) > 1`
  expect(await query(doubled)).toEqual([])
  expect(await query('select 1 from log_incarnations')).toEqual([])

  const notes = await query<{ note: string }>('select note from log_checkpoints order by size')
  expect(notes.length).toBeGreaterThan(10)
  const [first, middle, last] = [notes[0], notes[Math.floor(notes.length / 2)], notes.at(-1)]
  for (const [i, { note }] of [first!, middle!, last!].entries()) {
    const file = join(folder, `${i}.txt`)
    await writeFile(file, note)
    const environment = { DATABASE_URL: opened.databaseUrl, SECRETS_KEY: secretsKey }
    const { exitCode, stdout } = await callCommand(['verify', '--checkpoint', file, '--key', key!], environment)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('The books are what was signed')])
  }
})
