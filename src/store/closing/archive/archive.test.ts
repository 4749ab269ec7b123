/** The files of a closed period: they have all of it, they are the same each time, and a change of any of them is found. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { newClient, type Client } from '../../../../test/client.ts'
import { callCommand } from '../../../../test/command.ts'
import { eventually } from '../../../../test/eventually.ts'
import { holdClient, holdOf } from '../../../../test/holds.ts'
import { queryEach } from '../../../../test/sealed-books.ts'
import { newApp, newUser, openTestService, operator } from '../../../../test/service.ts'
import type { Credentials, TestService, TestUser } from '../../../../test/service.ts'
import { closePeriod } from '../../../actions/money/close-period.ts'
import { postForService } from '../../../actions/money/post.ts'
import { openClient } from '../../connection/servers.ts'
import { parseEntryLine, parseOutcomeLine, sha256Of, type Manifest } from './archive-file.ts'

setDefaultTimeout(180_000)

let opened: TestService
let credentials: Credentials
let client: Client
let folder: string
let written: string

const query = async <T>(sql: string) => (await opened.service.db.pool.query(sql)).rows as T[]
const archive = async (...args: string[]) => {
  const ended = await callCommand(['archive', ...args, '--json'], { DATABASE_URL: opened.databaseUrl })
  const json = (ended.exitCode === 2 || ended.stdout === '' ? {} : JSON.parse(ended.stdout)) as Record<string, unknown>
  return { ...ended, json, said: ended.stdout + ended.stderr }
}
const write = (period: number, to: string) => archive('write', String(period), '--to', to)
const faultsIn = async (of: string) => {
  const { json, exitCode } = await archive('check', of)
  const faults = (json['periods'] as { faults: string[] }[]).flatMap((period) => period.faults)
  expect(exitCode).toBe(faults.length === 0 ? 0 : 1)
  return faults
}
const linesOf = async (name: string, of = written) => {
  const text = zstdDecompressSync(await readFile(join(of, name))).toString()
  return text === '' ? [] : text.slice(0, -1).split('\n')
}
const newFolder = () => join(folder, crypto.randomUUID())
/** The files of period 1, with one of them changed. */
const changed = async (change: (copy: string) => Promise<void>) => {
  const copy = newFolder()
  await cp(written, copy, { recursive: true })
  await change(copy)
  return await faultsIn(copy)
}
/** Changes the lines of a file and the manifest with it, as one would who hides the change. */
const forged = (name: 'entries' | 'outcomes', change: (lines: string[]) => string[]) =>
  changed(async (copy) => {
    const file = `period-1.${name}.jsonl.zst`
    const lines = change(await linesOf(file)).map((line) => `${line}\n`)
    const bytes = zstdCompressSync(lines.join(''))
    await writeFile(join(copy, file), bytes)
    const path = join(copy, 'period-1.json')
    const manifest = JSON.parse(await readFile(path, 'utf8')) as Manifest
    const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
    await writeFile(path, JSON.stringify({ ...manifest, [name]: { ...manifest[name], bytes: bytes.length, sha256 } }))
  })

const read = async (columns: string, table: string) => {
  const rows = await query<{ row: unknown[] }>(`select json_build_array(${columns}) as row from ${table}`)
  return rows.map(({ row }) => row)
}
const sorted = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).sort()
const amountOf = (line: string) => (JSON.parse(line) as [number])[0]

let ann: TestUser

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-archive-'))
  written = join(folder, 'written')
  opened = await openTestService()
  const { service } = opened
  credentials = await newApp(service)
  client = newClient(opened.app.fetch, credentials)
  const holder = holdClient(client, credentials)
  ann = await newUser(service, credentials)
  const bob = await newUser(service, credentials)
  const [su, other] = [ann.serviceUserId, bob.serviceUserId]
  await client.credit(su, 100)
  await client.credit(other, 20)
  const description = 'two\nlines, "quoted", \u2028 and 🍋'
  const asked = { ...credentials, serviceUserId: su, amount: 5, referenceType: 'Käse', referenceId: '"1",\\' }
  await client.post('/api/server/wallet/debit', { ...asked, description })
  await client.debit(su, 5_000, 'refused')
  const held = holdOf(await holder.place(su, 10, { referenceId: 'held' }))
  await client.debit(su, 1, 'while-held')
  await holder.capture(held.id, { amount: 4, final: false, referenceType: 'ORDER', referenceId: 'captured' })
  // On the account of the app, in the namespace of the service.
  const counterAccount = `app:${credentials.clientId}` as const
  const correction = { walletId: bob.userId, counterAccount, amountMinor: 300n, isReversal: false }
  const reference = { referenceType: 'CORRECTION', referenceId: crypto.randomUUID(), description: 'x' }
  await postForService(service, { ...correction, ...reference })
  await closePeriod(service.db.connection, operator)
  expect((await write(1, written)).exitCode).toBe(0)
})
afterAll(async () => {
  await opened.close()
  await rm(folder, { recursive: true })
})

describe('the files of a closed period', () => {
  test('have every entry and every outcome of it, to the microsecond', async () => {
    const entries: unknown[] = []
    const outcomes: unknown[] = []
    let [walletId, sequence, balance] = ['', 0, 0]
    for (const line of await linesOf('period-1.entries.jsonl.zst')) {
      const parsed = parseEntryLine(line)!
      if ('wallet' in parsed) [walletId, sequence, balance] = [parsed.wallet[0], parsed.wallet[1] - 1, parsed.wallet[2]]
      else {
        const { entry } = parsed
        sequence++
        balance += entry.amountMinor
        const { amountMinor: amount, microseconds: at, referenceKey: key, heldMinor } = entry
        const { counterAccount, referenceType, referenceId, description } = entry
        const texts = [counterAccount, referenceType, referenceId, description]
        entries.push([walletId, sequence, amount, balance, key, at, ...texts])
        outcomes.push([key, walletId, amount, balance, sequence, at, null, heldMinor, null])
      }
    }
    for (const line of await linesOf('period-1.outcomes.jsonl.zst')) {
      const {
        referenceKey: key,
        walletId,
        amountMinor,
        balanceMinor,
        microseconds,
        result,
        heldMinor,
      } = parseOutcomeLine(line)!
      const [refusal, isHold] = result === 'HOLD' ? [null, true] : [result, null]
      outcomes.push([key, walletId, amountMinor, balanceMinor, null, microseconds, refusal, heldMinor, isHold])
    }
    const at = `to_char(extract(epoch from created_at) * 1000000, 'FM9999999999999999')::bigint`
    const key = `replace(reference_key::text, '-', '')`
    expect(sorted(entries)).toEqual(
      sorted(
        await read(
          `wallet_id, sequence, amount, balance_after, ${key}, ${at}, counter_account, reference_type, reference_id, description`,
          'closed_transfers_1',
        ),
      ),
    )
    expect(sorted(outcomes)).toEqual(
      sorted(
        await read(`${key}, wallet_id, amount, balance, sequence, ${at}, refusal, held, is_hold`, 'closed_outcomes_1'),
      ),
    )
    expect(outcomes.length - entries.length).toBe(2)
    expect(new Set(outcomes.map((row) => (row as unknown[])[7]))).toEqual(new Set([null, 1_000, 600]))
  })

  test('have a manifest with their counts, sums and checksums, and are readable by their owner alone', async () => {
    const text = await readFile(join(written, 'period-1.json'), 'utf8')
    const { log: _, ...manifest } = JSON.parse(text) as Manifest
    const files = await Promise.all(
      ['entries', 'outcomes'].map(async (name) => {
        const file = `period-1.${name}.jsonl.zst`
        const bytes = await readFile(join(written, file))
        const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
        return { file, rows: name === 'entries' ? 6 : 2, bytes: bytes.length, sha256 }
      }),
    )
    const [{ closedAt } = { closedAt: new Date(0) }] = await query<{ closedAt: Date }>(
      'select closed_at as "closedAt" from closings where id = 1',
    )
    expect(manifest as unknown).toEqual({
      format: 'billfold archive 1',
      period: 1,
      closedAt: closedAt.toISOString(),
      currency: 'USD',
      wallets: 2,
      entries: files[0],
      outcomes: files[1],
      accounts: [{ account: `app:${credentials.clientId}`, entries: 6, debited: '1000', credited: '12300' }],
    })
    for (const name of await readdir(written)) expect((await stat(join(written, name))).mode & 0o777).toBe(0o600)
    expect((await archive('check', written)).json).toMatchObject({
      isWhole: true,
      periods: [{ period: 1, sha256: sha256Of(text), faults: [] }],
    })
  })

  test('are the same when they are written again, and no manifest is overwritten', async () => {
    const again = newFolder()
    expect((await write(1, again)).exitCode).toBe(0)
    for (const name of await readdir(written))
      expect(await readFile(join(again, name))).toEqual(await readFile(join(written, name)))
    const refused = await write(1, again)
    expect([refused.exitCode, refused.said]).toEqual([1, expect.stringContaining('already exists')])
  })

  test('are replaced where an interrupted run left no manifest', async () => {
    const left = newFolder()
    await cp(written, left, { recursive: true })
    await rm(join(left, 'period-1.json'))
    await truncate(join(left, 'period-1.entries.jsonl.zst'), 20)
    const none = await archive('check', left)
    expect([none.exitCode, none.said]).toEqual([1, expect.stringContaining('has no archived period')])
    expect((await write(1, left)).exitCode).toBe(0)
    expect(await faultsIn(left)).toEqual([])
  })

  test('are written by a later run, after a process was killed in the middle', async () => {
    const to = newFolder()
    // The other process may take long to start.
    const settings = { idle_in_transaction_session_timeout: '0' }
    const locker = await openClient(opened.service.db.connection, { name: 'test', settings })
    await locker.query('begin; lock table closed_outcomes_1 in access exclusive mode')
    const child = Bun.spawn([process.execPath, 'src/cli.ts', 'archive', 'write', '1', '--to', to], {
      cwd: new URL('../../../..', import.meta.url).pathname,
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', DATABASE_URL: opened.databaseUrl },
      stdout: 'ignore',
      stderr: 'ignore',
    })
    const waiting = `select 1 from pg_stat_activity where datname = current_database()
      and application_name = 'billfold archive' and wait_event_type = 'Lock'`
    await eventually(async () => (await query(waiting)).length, 1)
    child.kill('SIGKILL')
    await child.exited
    await locker.query('rollback')
    await locker.end()
    expect((await readdir(to)).filter((name) => !name.endsWith('.partial'))).toEqual([])
    expect((await write(1, to)).exitCode).toBe(0)
    expect(await faultsIn(to)).toEqual([])
  })

  test.each([
    ['0', 2, 'The period is a number'],
    ['-1', 2, 'There is no flag'],
    ['one', 2, 'The period is a number'],
    ['99', 1, 'There is no closed period 99'],
  ])('of period %s are not written', async (period, exitCode, sentence) => {
    const to = newFolder()
    const refused = await archive('write', period, '--to', to)
    expect([refused.exitCode, refused.said]).toEqual([exitCode, expect.stringContaining(sentence)])
    expect((await readdir(folder)).includes(to)).toBe(false)
  })
})

test('a folder that cannot be written or read is named', async () => {
  const file = join(folder, 'a-file')
  await writeFile(file, '')
  for (const refused of [await write(1, file), await write(1, join(file, 'within')), await archive('check', file)])
    expect([refused.exitCode, refused.said]).toEqual([
      1,
      expect.stringMatching(/a-file.* cannot be (created|read|written): E/),
    ])
})

describe('a check of the files finds', () => {
  test('a file that is missing, shortened or changed in one bit', async () => {
    const entries = 'period-1.entries.jsonl.zst'
    expect(await changed((copy) => rm(join(copy, entries)))).toContainEqual(expect.stringContaining('cannot be read'))
    const { size } = await stat(join(written, entries))
    expect(await changed((copy) => truncate(join(copy, entries), size - 1))).not.toEqual([])
    expect(await changed((copy) => truncate(join(copy, entries), 0))).not.toEqual([])
    for (const at of [0, 5, Math.floor(size / 2), size - 1]) {
      const faults = await changed(async (copy) => {
        const bytes = await readFile(join(copy, entries))
        bytes[at]! ^= 1
        await writeFile(join(copy, entries), bytes)
      })
      expect([at, faults.length > 0]).toEqual([at, true])
    }
  })

  test('a manifest that is not one', async () => {
    for (const text of ['', 'null', '{}', '[]', '{"format":"billfold archive 1","period":1}', 'no JSON'])
      expect(await changed((copy) => writeFile(join(copy, 'period-1.json'), text))).toEqual([
        'period-1.json is not the manifest of this period.',
      ])
    const faults = await changed(async (copy) => {
      const path = join(copy, 'period-1.json')
      await writeFile(path, (await readFile(path, 'utf8')).replace('"12300"', '"12301"'))
    })
    expect(faults).toEqual([`The sums of app:${credentials.clientId} are not those of the manifest.`])
    const ofAnother = await changed(async (copy) => {
      const path = join(copy, 'period-1.json')
      await writeFile(
        path,
        (await readFile(path, 'utf8')).replaceAll(/"sha256": "\w+"/g, `"sha256": "${sha256Of('')}"`),
      )
    })
    expect(ofAnother).toEqual(
      ['entries', 'outcomes'].map(
        (name) => `period-1.${name}.jsonl.zst is not the file of the manifest: its SHA-256 is another.`,
      ),
    )
  })

  test.each<[string, (lines: string[]) => string[], string]>([
    ['an entry left out', (lines) => lines.toSpliced(-1, 1), 'has 5 entries of 2 wallets'],
    ['a wallet left out', (lines) => lines.slice(lines.findLastIndex((line) => line.startsWith('["'))), 'of 1 wallets'],
    [
      'wallets in another order',
      (lines) => {
        const second = lines.findLastIndex((line) => line.startsWith('["'))
        return [...lines.slice(second), ...lines.slice(0, second)]
      },
      'is not in its order',
    ],
    [
      'another amount',
      (lines) => lines.map((line) => line.replace(/^\[-500,/, '[-501,')),
      'are not those of the manifest',
    ],
    ['an entry of nothing', (lines) => lines.map((line) => line.replace(/^\[-500,/, '[0,')), 'moves nothing'],
    ['an overdraft', (lines) => lines.map((line) => line.replace(/^\[-500,/, '[-50000,')), 'overdraws the wallet'],
    ['a balance out of nothing', (lines) => lines.map((line) => line.replace(/,1,0\]$/, ',1,7]')), 'which cannot be'],
    [
      'entries in another order',
      (lines) => {
        const at = lines.findIndex((line) => amountOf(line) === -500)
        return lines.toSpliced(at, 2, lines[at + 1]!, lines[at]!)
      },
      'is older than the one before it',
    ],
    ['a line of something else', (lines) => [...lines, '{}'], 'is not one of an archive'],
    ['an entry of no wallet', (lines) => lines.slice(1), 'is not one of an archive'],
  ])('%s, whatever the manifest says of the file', async (_, change, sentence) => {
    expect(await forged('entries', change)).toContainEqual(expect.stringContaining(sentence))
  })

  test('references that are missing, repeated or unreadable', async () => {
    expect(await forged('outcomes', (lines) => lines.slice(1))).toContainEqual(
      expect.stringContaining('has 1 references'),
    )
    expect(await forged('outcomes', (lines) => [lines[0]!, lines[0]!])).toContainEqual(
      expect.stringContaining('is not in its order'),
    )
    expect(await forged('outcomes', (lines) => lines.map((line) => line.replace('HOLD', 'HELD')))).toContainEqual(
      expect.stringContaining('is not one of an archive'),
    )
  })
})

describe('a period is not written', () => {
  test('before it is counted', async () => {
    await client.debit(ann.serviceUserId, 1)
    await closePeriod(opened.service.db.connection, operator)
    await query('update closings set transfers = null, outcomes = null, indexed_at = null where id = 2')
    const refused = await write(2, newFolder())
    expect([refused.exitCode, refused.said]).toEqual([1, expect.stringContaining('is not counted yet')])
    expect((await callCommand(['period', 'index'], { DATABASE_URL: opened.databaseUrl })).exitCode).toBe(0)
    const to = newFolder()
    expect((await write(2, to)).exitCode).toBe(0)
    // It begins where the period before it ended, and has no reference that moved nothing.
    const [first] = await linesOf('period-2.entries.jsonl.zst', to)
    expect(parseEntryLine(first!)).toEqual({ wallet: [ann.userId, 5, 9_000] })
    expect(await linesOf('period-2.outcomes.jsonl.zst', to)).toEqual([])
    expect(await faultsIn(to)).toEqual([])
  })

  test.each([
    ['an amount was changed', 'closed_transfers_1', 'amount = amount - 1', 'amount = amount + 1'],
    ['a balance was changed', 'closed_outcomes_1', 'balance = balance - 1', 'balance = balance + 1'],
    ['a count is another', 'closings', 'transfers = 5 where id = 1 and 1', 'transfers = 6 where id = 1 and 1'],
  ])('in which %s', async (_, table, change, back) => {
    const to = newFolder()
    const isRow = table === 'closings' ? ' = 1' : ' where sequence = 3'
    const setTo = (values: string) =>
      queryEach(
        opened.service.db.pool,
        `alter table ${table} disable trigger user; grant update on ${table} to current_user;
        update ${table} set ${values}${isRow}; alter table ${table} enable trigger user`,
      )
    await setTo(change)
    const refused = await write(1, to)
    await setTo(back)
    expect([refused.exitCode, refused.said]).toEqual([1, expect.stringContaining('Period 1 is not what was closed')])
    expect((await readdir(to)).includes('period-1.json')).toBe(false)
    expect((await write(1, to)).exitCode).toBe(0)
    expect(await readFile(join(to, 'period-1.entries.jsonl.zst'))).toEqual(
      await readFile(join(written, 'period-1.entries.jsonl.zst')),
    )
  })
})
