/** A process that dies between claim and end, for every kind of work: what is lost, what runs again, and when. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { addWork, workKinds } from '../src/store/work/work.ts'
import { listFailingWork } from '../src/store/work/work-report.ts'
import { done, type Kind } from '../src/work/kind.ts'
import { kindsOf } from '../src/work/kinds.ts'
import { runDue } from '../src/work/runner.ts'
import { openTestService, type TestService } from './service.ts'
import { letPass } from './time.ts'

setDefaultTimeout(60_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

/** Claims a piece of every kind, and is killed with them in its hands. */
async function claimAndDie(): Promise<string[]> {
  const script = new URL('claim-process.ts', import.meta.url).pathname
  const child = Bun.spawn([process.execPath, script, opened.databaseUrl], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  child.kill('SIGKILL')
  await child.exited
  return JSON.parse(new TextDecoder().decode(value)) as string[]
}

const kinds = kindsOf({ sandbox: undefined })
const ran: string[] = []
/** With the claim, lease and guarantee of the kind, and a run that only says so. */
const recorded = (kind: Kind): Kind => ({
  ...kind,
  run: async (_, pieces) => pieces.map(({ key }) => (ran.push(`${kind.name} ${key}`), done)),
})
const runAll = async () => void (await Promise.all(kinds.map((kind) => runDue(opened.service, recorded(kind)))))
const pass = (ms: number) => letPass(opened.service.db.pool, ms, ['work'])

const mails = ['send-mail one', 'send-operator-mail one']

test('nothing is run twice while the lease holds, everything but a mail is run by another process after it, and a mail never, unless it is the last one of an account', async () => {
  expect(kinds.map(({ name }) => name).toSorted()).toEqual([...workKinds].toSorted())
  for (const kind of workKinds) await addWork(opened.service.db.pool, { kind, key: 'one' })
  const all = workKinds.map((kind) => `${kind} one`)
  expect((await claimAndDie()).toSorted()).toEqual(all.toSorted())
  await runAll()
  await pass(Math.min(...kinds.map(({ leaseMs }) => leaseMs)) - 20_000)
  await runAll()
  expect(ran).toEqual([])
  await pass(Math.max(...kinds.map(({ leaseMs }) => leaseMs)))
  await Promise.all([runAll(), runAll()])
  expect(ran.toSorted()).toEqual(all.filter((piece) => !mails.includes(piece)).toSorted())
  const failing = await listFailingWork(opened.service.db.pool, 10)
  expect(failing.map(({ kind, key }) => `${kind} ${key}`).toSorted()).toEqual(mails)
  await pass(40 * 86_400_000)
  await runAll()
  expect(ran.filter((piece) => mails.includes(piece))).toEqual([])
})
