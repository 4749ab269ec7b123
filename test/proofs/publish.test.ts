/** Checkpoints leave the house: to a file, a folder and an address, each for itself. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOwnCheckpoint } from '../../src/actions/proofs/own-checkpoint.ts'
import { publishEverywhere, publishTo } from '../../src/actions/proofs/publish.ts'
import { requestPublications } from '../../src/actions/proofs/request-publications.ts'
import { signNote } from '../../src/proof/sign-note.ts'
import { readLogSeed } from '../../src/actions/proofs/checkpoint.ts'
import type { Service } from '../../src/actions/service.ts'
import { parseConfig } from '../../src/config.ts'
import { findLogLevels, listPublications } from '../../src/store/proofs/publications.ts'
import { publishCheckpoint } from '../../src/work/publish-checkpoint.ts'
import { runDue, startWork } from '../../src/work/runner.ts'
import { newClient, type Client } from '../client.ts'
import { eventually } from '../eventually.ts'
import { isRoot } from '../root.ts'
import { newApp, newUser, openTestService, type TestService, type TestUser } from '../service.ts'
import { letPass } from '../time.ts'
import { logOf, newestOf, sealNow } from './seal-now.ts'

setDefaultTimeout(180_000)

let opened: TestService
let client: Client
let user: TestUser
let place: string
let receiver: ReturnType<typeof startReceiver>

function startReceiver() {
  const received: string[] = []
  const self = { received, answer: (): Response | Promise<Response> => new Response(null, { status: 204 }) }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: async (request) => {
      received.push(await request.text())
      return await self.answer()
    },
  })
  return Object.assign(self, { url: `http://127.0.0.1:${server.port}/log?token=t0ken`, stop: () => server.stop(true) })
}

beforeAll(async () => {
  opened = await openTestService()
  const app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  user = await newUser(opened.service, app)
})
afterAll(async () => await opened.close())

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'billfold-checkpoints-'))
  await mkdir(join(place, 'all'))
  receiver = startReceiver()
  await opened.service.db.pool.query('delete from log_publications; delete from work')
})
afterEach(async () => {
  await receiver.stop()
  await rm(place, { recursive: true })
})

const file = () => join(place, 'newest.txt')
const folder = () => join(place, 'all/')
const inFolder = async () => (await readdir(folder())).sort()

/** The same service with these targets. */
function publishingTo(targets: string, more: Record<string, string> = {}): Service {
  const { checkpointTargets, webhookAllowedNets } = parseConfig({ CHECKPOINTS: targets, ...more })
  return { ...opened.service, config: { ...opened.service.config, checkpointTargets, webhookAllowedNets } }
}

async function grow(service: Service) {
  await client.credit(user.serviceUserId, 1)
  return await sealNow(service)
}

const publications = async ({ db, config }: Service) => {
  const found = await listPublications(
    db.pool,
    config.checkpointTargets.map(({ id }) => id),
  )
  return config.checkpointTargets.map(({ id }) => found.find(({ target }) => target === id))
}
const levels = async ({ db, config }: Service) =>
  await findLogLevels(
    db.pool,
    new URL(config.publicUrl).host,
    config.checkpointTargets.map(({ id }) => id),
  )

test('a new checkpoint reaches a file, a folder and an address, signed by the log', async () => {
  const service = publishingTo(`${file()}, ${folder()},${receiver.url}`)
  const { note, size } = await grow(service)
  await runDue(service, publishCheckpoint)
  expect(await readFile(file(), 'utf8')).toBe(note)
  const log = await logOf(service)
  const name = `${log.id}-${String(size).padStart(15, '0')}.txt`
  expect(await inFolder()).toEqual([name])
  expect(await readFile(join(folder(), name), 'utf8')).toBe(note)
  expect(receiver.received).toEqual([note])
  expect(await readOwnCheckpoint(service, log, note)).toMatchObject({ size, note })
  const published = { size, error: null, contradiction: null }
  expect(await publications(service)).toMatchObject([published, published, published])
  expect(await levels(service)).toMatchObject({ publicationLateSeconds: 0, contradictions: 0 })
})

test('the next one replaces the file, and stands beside the last in the folder', async () => {
  const service = publishingTo(`${file()},${folder()}`)
  const first = await grow(service)
  await runDue(service, publishCheckpoint)
  const second = await grow(service)
  // A target gets at most one a minute.
  await runDue(service, publishCheckpoint)
  expect(await readFile(file(), 'utf8')).toBe(first.note)
  await letPass(service.db.pool, 60_000, ['log_publications', 'work'])
  await runDue(service, publishCheckpoint)
  expect(await readFile(file(), 'utf8')).toBe(second.note)
  expect(await Promise.all((await inFolder()).map((name) => readFile(join(folder(), name), 'utf8')))).toEqual([
    first.note,
    second.note,
  ])
})

test('nothing is published twice, and a target that was added later gets the newest', async () => {
  const before = publishingTo(receiver.url)
  const { note } = await grow(before)
  await runDue(before, publishCheckpoint)
  await requestPublications(before, await newestOf(before))
  await runDue(before, publishCheckpoint)
  expect(receiver.received).toEqual([note])
  const after = publishingTo(`${receiver.url},${file()}`)
  // The next pass finds nothing to seal.
  await sealNow(after)
  await runDue(after, publishCheckpoint)
  expect(receiver.received).toEqual([note])
  expect(await readFile(file(), 'utf8')).toBe(note)
})

describe('a target that fails', () => {
  test('keeps no other one waiting, is tried again, and gets the newest when it is back', async () => {
    const silence = Promise.withResolvers<Response>()
    receiver.answer = () => silence.promise
    const service = publishingTo(`${receiver.url},${folder()}`)
    const first = await grow(service)
    const stop = startWork(service, [{ ...publishCheckpoint, pollMs: 20 }])
    try {
      await eventually(() => receiver.received.length, 1)
      await eventually(async () => (await inFolder()).length, 1)
      silence.resolve(new Response('<b>token t0ken</b>', { status: 500 }))
      await eventually(async () => (await publications(service))[0]?.error, 'The answer was 500.')
    } finally {
      await stop()
    }
    expect((await publications(service))[0]).toMatchObject({ size: null, contradiction: null })
    const second = await grow(service)
    expect(await levels(service)).toMatchObject({ contradictions: 0 })
    expect((await levels(service))!.publicationLateSeconds).toBeGreaterThan(0)
    receiver.answer = () => new Response(null, { status: 201 })
    await letPass(service.db.pool, 3_600_000, ['work', 'log_publications'])
    await runDue(service, publishCheckpoint)
    expect(receiver.received).toEqual([first.note, second.note])
    expect((await publications(service))[0]).toMatchObject({ size: second.size, error: null, failingSince: null })
  })

  test('waits longer after each failure, and a new checkpoint does not shorten the wait', async () => {
    receiver.answer = () => new Response(null, { status: 503 })
    const service = publishingTo(receiver.url)
    await grow(service)
    const waits: number[] = []
    for (let i = 0; i < 12; i++) {
      await runDue(service, publishCheckpoint)
      await grow(service)
      const sql = 'select extract(epoch from due_at - failed_at)::float8 as wait, attempts from work'
      const { rows } = await service.db.pool.query<{ wait: number; attempts: number }>(sql)
      expect(rows).toMatchObject([{ attempts: i + 1 }])
      waits.push(Math.round(rows[0]!.wait))
      await letPass(service.db.pool, 3_700_000, ['work'])
    }
    expect(receiver.received).toHaveLength(12)
    expect(waits.slice(0, 4)).toEqual([10, 20, 40, 80])
    expect(waits.slice(-2)).toEqual([3_600, 3_600])
  })

  test.each([
    ['a folder that is not there', () => join(place, 'none/'), 'The folder is not there.'],
    ['a file in a folder that is not there', () => join(place, 'none/file'), 'The folder is not there.'],
    ['a folder named as a file', () => join(place, 'all'), 'It is a folder; end its path with a slash.'],
    [
      'an address that is not public',
      () => 'http://127.0.0.1:1/',
      'The address is not public, and not in WEBHOOK_ALLOWED_NETS.',
    ],
  ])('%s is reported in a sentence', async (_, target, error) => {
    const service = publishingTo(target(), { WEBHOOK_ALLOWED_NETS: '10.9.0.0/16' })
    await grow(service)
    expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'failed', error }]])
    expect(await publications(service)).toMatchObject([{ error, size: null, contradiction: null }])
  })

  test('a folder that comes back gets the newest alone', async () => {
    const service = publishingTo(join(place, 'mount/'))
    await grow(service)
    await publishEverywhere(service)
    await grow(service)
    const { note } = await newestOf(service)
    await mkdir(join(place, 'mount'))
    expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'published' }]])
    const names = await readdir(join(place, 'mount'))
    expect(await Promise.all(names.map((name) => readFile(join(place, 'mount', name), 'utf8')))).toEqual([note])
  })

  test.skipIf(isRoot)('a folder without the right to write is reported', async () => {
    await chmod(folder(), 0o500)
    const service = publishingTo(folder())
    await grow(service)
    expect(await publishEverywhere(service)).toMatchObject([[{}, { error: 'The service may not write there.' }]])
  })
})

/** What an owner of the key could sign besides. */
async function forge(service: Service, size: number, letter = 'A'): Promise<string> {
  const log = await logOf(service)
  const { origin } = await newestOf(service)
  const root = Buffer.alloc(32, letter).toString('base64')
  return await signNote(`${origin}\n${size}\n${root}\n`, origin, await readLogSeed(service, log))
}

describe('what is there already', () => {
  test('another checkpoint of the same size is a contradiction: it stays, and it is red', async () => {
    for (const target of [file(), folder()]) {
      const service = publishingTo(target)
      const { size } = await grow(service)
      const { id } = await logOf(service)
      const path = target === file() ? file() : join(folder(), `${id}-${String(size).padStart(15, '0')}.txt`)
      const other = await forge(service, size)
      await writeFile(path, other)
      const error = `It has another checkpoint of ${size} leaves under the same name.`
      expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'contradiction', error }]])
      expect(await readFile(path, 'utf8')).toBe(other)
      expect(await publications(service)).toMatchObject([{ contradiction: error }])
      expect(await levels(service)).toMatchObject({ contradictions: 1 })
      expect(opened.logged.join('')).toContain('a published checkpoint contradicts the books')
    }
  })

  test('a signed checkpoint that the log does not have is one too, older or newer', async () => {
    for (const by of [-1, 1_000]) {
      const service = publishingTo(file())
      const { size } = await grow(service)
      const other = await forge(service, size + by, 'B')
      await writeFile(file(), other)
      const error = `It has a checkpoint of ${size + by} leaves that this log signed and does not have.`
      expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'contradiction', error }]])
      expect(await readFile(file(), 'utf8')).toBe(other)
      await rm(file())
      expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'published' }]])
      expect(await levels(service)).toMatchObject({ contradictions: 0 })
    }
  })

  test.each([
    ['a letter', 'Dear Ann,\n'],
    ['bytes', '\0\xff\0'],
    ['half a checkpoint', 'x/books/1\n12\n'],
    ['a note of another key', 'x/books/1\n12\nAAAA\n\n— x/books/1 AAAAAAAA\n'],
  ])('a file with %s is not replaced, and no contradiction', async (_, text) => {
    await writeFile(file(), text)
    const service = publishingTo(file())
    await grow(service)
    const error = 'What is there is no checkpoint of this log, and it is not replaced.'
    expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'failed', error }]])
    expect(await readFile(file(), 'utf8')).toBe(text)
  })

  test('an empty file is filled', async () => {
    await writeFile(file(), '')
    const service = publishingTo(file())
    const { note } = await grow(service)
    expect(await publishEverywhere(service)).toMatchObject([[{}, { kind: 'published' }]])
    expect(await readFile(file(), 'utf8')).toBe(note)
  })

  test('a process that is late does not put an old checkpoint over a newer one', async () => {
    const service = publishingTo(file())
    const first = await grow(service)
    const second = await grow(service)
    await writeFile(file(), second.note)
    const { pool } = service.db
    // It read the newest before the other process signed.
    const late = { ...service, db: { ...service.db, pool: pretending(pool, first.size) } } as Service
    expect(await publishTo(late, service.config.checkpointTargets[0]!)).toMatchObject({ kind: 'published' })
    expect(await readFile(file(), 'utf8')).toBe(second.note)
  })
})

/** A pool whose newest checkpoint is the one of this size. */
function pretending(pool: Service['db']['pool'], size: number): unknown {
  const query = async (text: unknown, values?: unknown[]) =>
    typeof text === 'string' && text.includes('from log_checkpoints where origin = $1 order by')
      ? await pool.query(text.replace('order by', `and size <= ${size} order by`), values)
      : await pool.query(text as string, values)
  return { query }
}

test('of two processes that write different checkpoints of one size, one does, and the other is refused', async () => {
  const script = `
    import { writeCheckpointFile } from '${new URL('../../src/actions/proofs/checkpoint-files.ts', import.meta.url).pathname}'
    const [place, who] = process.argv.slice(-2)
    process.stdout.write('ready')
    for await (const _ of process.stdin) break
    const results = []
    for (let size = 1; size <= 200; size++)
      results.push(await writeCheckpointFile({ kind: 'folder', place }, 'x', { size, note: who + ' ' + size + 'x'.repeat(5000) }))
    process.stdout.write(JSON.stringify(results))`
  await writeFile(join(place, 'write.ts'), script)
  const processes = ['one', 'two'].map((who) =>
    Bun.spawn([process.execPath, join(place, 'write.ts'), folder(), who], { stdin: 'pipe', stdout: 'pipe' }),
  )
  const outputs = processes.map(async ({ stdin, stdout }) => {
    const reader = stdout.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('ready')
    return { stdin, rest: async () => await restOf(reader) }
  })
  const started = await Promise.all(outputs)
  for (const { stdin } of started) {
    void stdin.write('go\n')
    void stdin.end()
  }
  const [one, two] = (await Promise.all(started.map(({ rest }) => rest()))).map((text) => JSON.parse(text) as boolean[])
  const names = await inFolder()
  expect(names).toHaveLength(200)
  for (const [i, name] of names.entries()) {
    const text = await readFile(join(folder(), name), 'utf8')
    expect([one![i], two![i]]).toEqual(text.startsWith('one ') ? [true, false] : [false, true])
    expect(text).toHaveLength(`one ${i + 1}`.length + 5_000)
  }
})

async function restOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return text
    text += new TextDecoder().decode(value)
  }
}
