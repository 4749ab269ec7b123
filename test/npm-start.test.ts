/** `npm start` as people and machines end it: by a signal to npm alone, by Ctrl-C, by closing the window. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { isStopped, makeFolder, removeFolder } from './embedded-process.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { copyNewDatabase } from './new-database.ts'
import { wantsAll } from './wants-all.ts'

setDefaultTimeout(180_000)

const root = new URL('..', import.meta.url).pathname

let folder: string
let dataDir: string
let started: number | undefined
beforeEach(async () => {
  folder = await makeFolder()
  dataDir = join(folder, 'data')
  await copyNewDatabase(dataDir)
})
afterEach(async () => {
  if (started && groupOf(started).length > 0) process.kill(-started, 'SIGKILL')
  started = undefined
  await removeFolder(folder)
})

/** Commands of all processes of a group; the embedded PostgreSQL has a separate one. */
function groupOf(pid: number): string[] {
  const { stdout } = Bun.spawnSync(['pgrep', '-g', String(pid), '-a'])
  return stdout.toString().split('\n').filter(Boolean)
}

/** Started on a new terminal, which makes it the leader of a new group as well. */
async function startInTerminal(command: string[], environment: Record<string, string>) {
  let output = ''
  const ready = Promise.withResolvers<void>()
  const child = Bun.spawn(command, {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      // The shop is on the next one.
      PORT: String(await freePort(2)),
      DATA_DIR: dataDir,
      ...environment,
    },
    terminal: {
      data: (_, chunk) => {
        output += new TextDecoder().decode(chunk)
        // With a demo the example shop has to be there as well, and this line comes after it.
        if (output.includes(environment['DEMO'] === '1' ? 'The admin area' : 'ready on')) ready.resolve()
      },
    },
  })
  started = child.pid
  void child.exited.then(() => ready.reject(new Error(`ended too early: ${output}`)))
  await ready.promise
  return { child, output: () => output }
}

/** Nothing is left of the group, and the database was stopped by the last who left it. */
async function expectAllEnded(pid: number): Promise<void> {
  // A process that its parent killed last may take a little time to be gone.
  for (let waited = 0; waited < 30_000 && groupOf(pid).length > 0; waited += 50) await Bun.sleep(50)
  expect(groupOf(pid)).toEqual([])
  expect(isStopped(dataDir)).toBe(true)
}

// Only with workers does it matter whether a signal reaches them, and whether the window is closed or they are to be replaced.
for (const workers of wantsAll ? ['1', '2'] : ['2']) {
  const withWorkers = workers === '1' ? 'with one process' : 'with two workers'
  const processes = workers === '1' ? 3 : 5

  test(`SIGTERM to npm alone ends the service, its shop and its database, ${withWorkers}`, async () => {
    const { child } = await startInTerminal(['npm', 'start'], { WORKERS: workers, DEMO: '1' })
    // npm, the service, the workers, the shop; no shell in between, which would keep the signal for itself.
    await eventually(() => groupOf(child.pid).length, processes)
    child.kill('SIGTERM')
    await child.exited
    await expectAllEnded(child.pid)
  })

  test(`Ctrl-C at npm start lets what is under way finish and ends everything, ${withWorkers}`, async () => {
    const { child, output } = await startInTerminal(['npm', 'start'], { WORKERS: workers, DEMO: '1' })
    child.terminal!.write('\x03')
    await child.exited
    await expectAllEnded(child.pid)
    // Ended at once, as after a second Ctrl-C, it would not have got as far as this.
    await eventually(() => (output().match(/"message":"draining"/g) ?? []).length, Number(workers))
  })

  test(`closing the window ends everything, ${withWorkers}`, async () => {
    const { child } = await startInTerminal(['npm', 'start'], { WORKERS: workers, DEMO: '1' })
    child.terminal!.close()
    await child.exited
    for (let waited = 0; waited < 60_000 && !isStopped(dataDir); waited += 50) await Bun.sleep(50)
    await expectAllEnded(child.pid)
  })
}

test('a second Ctrl-C at npm start ends it at once, though the first one came twice', async () => {
  const { child, output } = await startInTerminal(['npm', 'start'], { DEMO: '0', DRAIN_ANNOUNCE_MS: '60000' })
  child.terminal!.write('\x03')
  while (!output().includes('"message":"draining"')) await Bun.sleep(20)
  // Longer than npm may take to pass the first one on.
  await Bun.sleep(1_200)
  expect(child.exitCode).toBeNull()
  child.terminal!.write('\x03')
  await child.exited
  // A service that is cut off leaves its database to the next one. Here there is none.
  expect(isStopped(dataDir)).toBe(false)
})
