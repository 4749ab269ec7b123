/** Every form and command that carries an id: the id binds its content, at once and afterwards. */
import { readFile } from 'node:fs/promises'
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { adminForms } from '../../test/admin-forms.ts'
import { expectBalancedBooks } from '../../test/books.ts'
import { callCommand } from '../../test/command.ts'
import { newOperator } from '../../test/operator.ts'
import { newUser } from '../../test/service.ts'
import { openBench } from '../../test/topup/rig.ts'
import { loadCommands } from '../cli/commands.ts'
import { adminRoutes } from './pages.tsx'

setDefaultTimeout(180_000)

const bench = await openBench({}, 20_000)
const admin = await newOperator(bench.opened)
const { forms } = adminForms(bench, admin)
afterAll(async () => {
  await expectBalancedBooks(bench.service)
  await bench.close()
})

type Bound = {
  /** The file that makes the id, and the field that carries it. Absent when the order is named by what it is about. */
  readonly made?: readonly [file: string, field: string]
  /** Other content under the same id, with the path's `:id` in it. The first is valid on its own. */
  readonly others: readonly Record<string, string>[]
  /** The first answer shows a secret, which is not stored: a repeat is refused with another text. */
  readonly isShownOnce?: true
}

const bound: Readonly<Record<string, Bound>> = {
  '/admin/client-apps': {
    made: ['client-app/client-app-new.tsx', 'form'],
    others: [{ name: 'A third shop' }, { scopes: 'wallet:write' }],
    isShownOnce: true,
  },
  '/admin/client-apps/:clientId/secrets': {
    made: ['client-app/client-app-secrets.tsx', 'form'],
    others: [{ overlap: '24h' }],
    isShownOnce: true,
  },
  '/admin/client-apps/:clientId/endpoints': {
    made: ['client-app/client-app-endpoints.tsx', 'form'],
    others: [{ url: 'https://shop.example/other' }, { type: 'link.created' }],
    isShownOnce: true,
  },
  '/admin/client-apps/:clientId/endpoints/:id/rotate': {
    made: ['client-app/client-app-endpoint.tsx', 'form'],
    others: [{ overlap: '24h' }],
    isShownOnce: true,
  },
  '/admin/client-apps/:clientId/settlements': {
    made: ['client-app/settlements.tsx', 'id'],
    others: [{ reference: 'SEPA 4712' }, { through: '2026-01-30' }, { amount: '999' }],
  },
  '/admin/client-apps/:clientId/settlements/:id/reverse': {
    made: ['client-app/settlements.tsx', 'id'],
    others: [{ reason: 'another reason' }],
  },
  '/admin/wallets/:id/notes': { made: ['wallet/wallet-story.tsx', 'form'], others: [{ note: 'Called three times' }] },
  '/admin/wallets/:id/mails': { made: ['wallet/wallet-story.tsx', 'form'], others: [{ fact: 'closed-:id' }] },
  '/admin/wallets/:id/bonus/grant': {
    made: ['wallet/wallet.tsx', 'referenceId'],
    others: [{ amount: '0.01' }, { amount: '70000' }, { bonusReason: 'another reason' }],
  },
  '/admin/wallets/:id/correct/order': {
    made: ['wallet/correct.tsx', 'id'],
    others: [{ amount: '0.01' }, { amount: '70000' }, { direction: 'debit' }, { account: 'bonus' }, { reason: 'x' }],
  },
  '/admin/topups/:id/refund/order': {
    made: ['topups/topup.tsx', 'key'],
    others: [{ amount: '5' }, { reason: 'another reason' }],
  },
  '/admin/holds/:id/void': { made: ['holds/hold-page.tsx', 'form'], others: [{ reason: 'another reason' }] },
  '/admin/reconciliation/difference': { others: [{ reason: 'another reason' }, { seen: '99 0' }] },
}

const pathOf = (route: string, parameters: Record<string, string> = {}) =>
  route.replace(/:(\w+)/g, (_, name: string) => parameters[name]!)

const contentOf = (other: Record<string, string>, parameters?: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(other).map(([name, value]) => [name, value.replace(':id', parameters?.['id'] ?? '')]),
  )

async function audited(): Promise<number> {
  const { rows } = await bench.service.db.pool.query<{ count: number }>('select count(*)::int as count from audit')
  return rows[0]!.count
}

const isDone = ({ status }: Response) => status === 200 || status === 303

describe.each(Object.keys(bound))('POST %s', (route) => {
  const { made, others, isShownOnce } = bound[route]!

  test('refuses other content under the same id, and answers the same with its first result', async () => {
    const { path, fields = {} } = await forms[route]!.make()
    const here = pathOf(route, path)
    const first = await admin.post(here, fields)
    expect([isDone(first), await first.text()]).toEqual([true, expect.any(String)])
    const before = await audited()
    for (const other of others) {
      const response = await admin.post(here, { ...fields, ...contentOf(other, path) })
      expect([other, response.status]).toEqual([other, 409])
      if (made) expect(await response.text()).toContain('already sent with other content')
    }
    if (made && path) {
      const elsewhere = await forms[route]!.make()
      const response = await admin.post(pathOf(route, elsewhere.path), {
        ...elsewhere.fields,
        [made[1]]: fields[made[1]]!,
      })
      expect([response.status, await response.text()]).toEqual([409, expect.stringContaining('other content')])
    }
    const again = await admin.post(here, fields)
    if (isShownOnce)
      expect([again.status, await again.text()]).toEqual([409, expect.not.stringContaining('other content')])
    else expect([again.status, again.headers.get('location')]).toEqual([first.status, first.headers.get('location')])
    // The preparation of another subject may be on record, but none of the refused orders.
    const { rows } = await bench.service.db.pool.query<{ count: number }>(
      'select count(*)::int as count from audit where actor = $1 and at > (select at from audit order by at offset $2 limit 1)',
      [`operator:${admin.id}`, before - 1],
    )
    expect(rows).toEqual([{ count: 0 }])
  })

  test('does one of two contents that arrive at once', async () => {
    const { path, fields = {} } = await forms[route]!.make()
    const contents = [fields, { ...fields, ...contentOf(others[0]!, path) }]
    const sent = Array.from({ length: 8 }, (_, i) => admin.post(pathOf(route, path), contents[i % 2]))
    const responses = await Promise.all(sent)
    expect(new Set(responses.filter((response) => !isDone(response)).map(({ status }) => status))).toEqual(
      new Set([409]),
    )
    const done = responses.flatMap((response, i) => (isDone(response) ? [i % 2] : []))
    expect(new Set(done).size).toBe(1)
    expect(done).toHaveLength(isShownOnce ? 1 : 4)
  })
})

/** Its components make the ids of other files' forms. */
const sharedIds = 'client-app/shown-once.tsx'

test('every id that a page makes is that of a form in this test, and every form exists', async () => {
  const found: string[] = []
  const glob = new Bun.Glob('**/*.{ts,tsx}')
  for await (const file of glob.scan(import.meta.dir)) {
    if (file.includes('.test.')) continue
    for (const line of (await readFile(`${import.meta.dir}/${file}`, 'utf8')).split('\n'))
      if (file === sharedIds) continue
      else if (/<(FormId|RotateForm) /.test(line)) found.push(`${file} form`)
      else if (/randomUUID|newId\(/.test(line))
        found.push(`${file} ${/name="(\w+)" value=\{crypto\.|(\w+): crypto\./.exec(line)?.slice(1).join('') ?? line}`)
  }
  const listed = Object.values(bound).flatMap(({ made }) => (made ? [made.join(' ')] : []))
  expect(found.toSorted()).toEqual(listed.toSorted())
  const posts = adminRoutes.filter(({ method }) => method === 'POST').map(({ path }) => path)
  expect(Object.keys(bound).filter((route) => !posts.includes(route))).toEqual([])
})

/** The flag that carries the id, the order, and other content under the same id. */
const commands: Readonly<Record<string, [flag: string, order: string[], others: string[][]]>> = {
  'wallet credit': [
    '--reference',
    ['--amount', '5', '--reason', 'x'],
    [
      ['--amount', '0.01', '--reason', 'x'],
      ['--amount', '70000', '--reason', 'x'],
      ['--amount', '5', '--reason', 'y'],
    ],
  ],
  'wallet correct': [
    '--id',
    ['--credit', '5', '--reason', 'x'],
    [
      ['--credit', '0.01', '--reason', 'x'],
      ['--debit', '5', '--reason', 'x'],
      ['--credit', '5', '--reason', 'y'],
      ['--credit', '5', '--reason', 'x', '--account', 'bonus'],
    ],
  ],
}

const run = async (name: string, wallet: string, args: string[]) =>
  await callCommand([...name.split(' '), wallet, ...args], { DATABASE_URL: bench.opened.databaseUrl })

describe('billfold', () => {
  test.each(Object.keys(commands))('%s refuses other content under the same id', async (name) => {
    const [flag, order, others] = commands[name]!
    const id = [flag, crypto.randomUUID()]
    const [{ userId }, stranger] = [
      await newUser(bench.service, bench.credentials),
      await newUser(bench.service, bench.credentials),
    ]
    expect((await run(name, userId, [...order, ...id])).exitCode).toBe(0)
    for (const other of others) {
      const { exitCode, stderr } = await run(name, userId, [...other, ...id])
      expect([other, exitCode, stderr]).toEqual([other, 1, expect.stringContaining('used before')])
    }
    expect((await run(name, stranger.userId, [...order, ...id])).exitCode).toBe(1)
    expect((await run(name, userId, [...order, ...id])).exitCode).toBe(0)
    const { rows } = await bench.service.db.pool.query<{ balance: bigint }>(
      'select balance from wallets where id = any($1) order by balance',
      [[userId, stranger.userId]],
    )
    expect(rows.map(({ balance }) => balance)).toEqual([0n, 5_00n])
  })

  test('every command with an id that makes repeats safe is in this test', async () => {
    const all = await loadCommands()
    const found = all.flatMap(({ name, flags = {} }) =>
      Object.entries(flags).flatMap(([flag, { about }]) =>
        about.includes('repeats safe') ? [`${name} --${flag}`] : [],
      ),
    )
    expect(found.toSorted()).toEqual(
      Object.entries(commands)
        .map(([name, [flag]]) => `${name} ${flag}`)
        .toSorted(),
    )
  })
})
