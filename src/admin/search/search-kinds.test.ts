import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { beginPatiently } from '../../../test/lock-waits.ts'
import { newClient } from '../../../test/client.ts'
import { newOperator, type TestOperator } from '../../../test/operator.ts'
import {
  newApp,
  newUser,
  openTestService,
  operator as actor,
  type Credentials,
  type TestService,
  type TestUser,
} from '../../../test/service.ts'
import { searchKinds } from '../../actions/search/find-anything.ts'
import { parseAmount } from '../../actions/search/search-text.ts'
import { rotateSecret, revokeSecret } from '../../actions/apps/manage-apps.ts'
import { fingerprintOf, hashSecret, newId } from '../../actions/tokens.ts'
import { parseCurrency } from '../../ledger/money.ts'
import { insertSettlement } from '../../store/books/settlements.ts'
import { transact } from '../../store/connection/database.ts'
import { insertDeletion } from '../../store/people/deletions.ts'
import { insertCorrection } from '../../store/corrections.ts'
import { insertInvite } from '../../store/operator-access/operator-invites.ts'
import { roles, type Role } from '../../store/operators.ts'
import { insertNote } from '../../store/people/notes.ts'
import { insertUser } from '../../store/people/users.ts'
import { kindTexts } from './search-help.tsx'

setDefaultTimeout(180_000)

let rig: TestService
let shop: Credentials
let user: TestUser
let viewer: TestOperator
const operators = new Map<Role, TestOperator>()
const ids = {
  correction: newId(),
  payout: newId(),
  reversal: newId(),
  note: newId(),
  deletion: newId(),
  invite: newId(),
  change: newId(),
}

beforeAll(async () => {
  rig = await openTestService()
  for (const role of roles) operators.set(role, await newOperator(rig, role))
  viewer = operators.get('viewer')!
  const { service } = rig
  shop = await newApp(service, { name: 'Fernweh Books' })
  user = await newUser(service, shop)
  const client = newClient(rig.app.fetch, shop)
  await client.credit(user.serviceUserId, 500, 'gift-1')
  await client.debit(user.serviceUserId, 19.99, 'order-1')
  await service.referenceTypes.close()
  await transact(service.db, async (tx) => {
    await insertCorrection(tx, {
      id: ids.correction,
      walletId: user.userId,
      amountMinor: -4_000n,
      counterAccount: 'adjustments',
      reason: 'Paid twice',
      corrects: null,
      needsApproval: true,
      askedBy: `operator:${viewer.id}`,
    })
    const payout = { clientId: shop.clientId, fromDay: null, throughDay: '2026-01-31', madeBy: 'cli' }
    await insertSettlement(tx, {
      ...payout,
      id: ids.payout,
      number: 1,
      amountMinor: 1_000n,
      reference: 'SEPA 4711 Ünïon_100%',
      reverses: null,
    })
    await insertSettlement(tx, {
      ...payout,
      id: ids.reversal,
      number: 2,
      amountMinor: -1_000n,
      reference: 'the bank sent it back',
      reverses: ids.payout,
    })
    await insertNote(tx, { id: ids.note, userId: user.userId, operatorId: viewer.id, text: 'Called about a refund' })
    const deletion = { userId: user.userId, reason: 'Asked by post', askedBy: `operator:${viewer.id}` }
    await insertDeletion(tx, { ...deletion, id: ids.deletion, lifetimeMs: 3_600_000 })
    await insertInvite(tx, hashSecret('token'), {
      id: ids.invite,
      operatorId: null,
      role: 'support',
      email: 'new.hire@company.example',
      createdBy: `operator:${operators.get('admin')!.id}`,
      approvedBy: null,
      lifetimeMs: 3_600_000,
    })
    await tx.query(
      `insert into operator_changes (id, kind, email, role, asked_by, expires_at) values ($1, 'invite', 'x@company.example', 'viewer', $2, now() + interval '1 day')`,
      [ids.change, `operator:${viewer.id}`],
    )
    for (const email of ['ada.lovelace@analytical.example', 'grace_hopper@navy.example', '100%_sure@odd.example'])
      await insertUser(tx, { id: newId(), email, passwordHash: null, firstName: 'Zed', lastName: 'Zeta' })
  })
})
afterAll(() => rig.close())

const find = (q: string, who = viewer) => who.get(`/admin/search?q=${encodeURIComponent(q)}`)
const placeOf = async (q: string) => decodeURIComponent((await find(q)).headers.get('location') ?? '')
const htmlOf = async (q: string) => await (await find(q)).text()
const mainOf = (html: string) => html.slice(html.indexOf('<main'))
const pageOf = async (q: string) =>
  mainOf(await htmlOf(q))
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

describe('a complete id leads to its page:', () => {
  test.each([
    ['a correction that waits', () => ids.correction, () => `/admin/corrections/${ids.correction}`],
    ['a payout', () => ids.payout, () => `/admin/client-apps/${shop.clientId}/settlements?below=2`],
    ['the reversal of a payout', () => ids.reversal, () => `/admin/client-apps/${shop.clientId}/settlements?below=3`],
    ['a note', () => ids.note, () => `/admin/wallets/${user.userId}`],
    ['a requested deletion', () => ids.deletion, () => `/admin/deletions?id=${ids.deletion}`],
    ['an operator', () => viewer.id, () => '/admin/operators'],
    ['an invitation', () => ids.invite, () => '/admin/operators'],
    ['a change of an operator', () => ids.change, () => '/admin/operators'],
  ])('%s', async (_, id, path) => {
    expect(await placeOf(id())).toBe(path())
    expect(await placeOf(id().toUpperCase())).toBe(path())
    expect((await viewer.get(path())).status).toBe(200)
  })

  test('a secret', async () => {
    const [secret] = (await rig.service.apps.find(shop.clientId))!.secrets
    expect(await placeOf(secret!.id)).toBe(`/admin/client-apps/${shop.clientId}`)
  })

  test('a correction that was posted, whose entry has the same id as its reference', async () => {
    const finance = operators.get('finance')!
    const base = `/admin/wallets/${user.userId}/correct`
    const asked = { direction: 'credit', amount: '3', account: 'adjustments', reason: 'Goodwill' }
    const question = await (await finance.post(base, asked)).text()
    const hidden = [...question.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
    const answer = await finance.post(
      `${base}/order`,
      Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
    )
    const path = answer.headers.get('location')!.split('?')[0]!
    await rig.service.referenceTypes.close()
    expect(await placeOf(path.split('/').at(-1)!)).toBe(path)
  })
})

describe('a payout is found by its reference:', () => {
  test('complete, in any case, it leads to the payout', async () => {
    for (const q of ['SEPA 4711 Ünïon_100%', 'sepa 4711 ünïon_100%'])
      expect(await placeOf(q)).toBe(`/admin/client-apps/${shop.clientId}/settlements?below=2`)
  })

  test('its beginning shows it, with the app', async () => {
    for (const q of ['sepa', 'SEPA 4711'])
      expect(await pageOf(q)).toContain('Fernweh Books 2026-01-31 $10.00 SEPA 4711 Ünïon_100%')
  })

  test('its middle does not, and no character is a wildcard', async () => {
    for (const q of ['4711 Ünïon', 'SEPA_4711', 'SEPA%', '%'])
      expect(await pageOf(q)).not.toContain('SEPA 4711 Ünïon_100%')
  })
})

test('a fingerprint shows the secret, its app and its state, also as the command line prints it', async () => {
  const other = await newApp(rig.service, { name: 'Rotating' })
  await rotateSecret(rig.service, actor, other.clientId, '1h')
  const old = (await rig.service.apps.find(other.clientId))!.secrets.find((secret) => secret.expiresAt)!
  const fingerprint = fingerprintOf(hashSecret(other.clientSecret))
  for (const q of [fingerprint, fingerprint.toUpperCase(), `…${fingerprint}`])
    expect(await pageOf(q)).toMatch(new RegExp(`Secrets of apps .*${fingerprint} Rotating .* ends `))
  await revokeSecret(rig.service, actor, other.clientId, old.id)
  expect(await pageOf(fingerprint)).toMatch(new RegExp(`${fingerprint} Rotating .* revoked `))
  expect(await pageOf(other.clientSecret)).toContain('Nothing found')
})

test('a request id is not stored, and the page says so and what to search the log for', async () => {
  const { headers } = await find('x')
  const id = headers.get('x-request-id')!
  const html = await htmlOf(id)
  expect(html).toContain('Request ids are not stored in the database')
  expect(html).toContain(`&quot;requestId&quot;:&quot;${id}&quot;`)
  expect(rig.logged.some((line) => line.includes(`"requestId":"${id}"`))).toBeTrue()
  const { rows } = await rig.service.db.pool.query<{ table: string }>(
    `select table_name as table from information_schema.columns where table_schema = 'public' and column_name ~ 'request_?id'`,
  )
  expect(rows).toEqual([])
})

describe('an amount without a day', () => {
  test('shows the newest entries of that amount, and that all were searched', async () => {
    for (const q of ['19.99', '$19.99', '-19.99', '−19.99', 'USD 19.99', '19,99']) {
      const page = await pageOf(q)
      expect(page).toContain('ORDER · order-1')
      expect(page).toContain('$19.99 : all entries were searched.')
    }
    expect(await pageOf('+19.99')).not.toContain('ORDER · order-1')
    expect(await pageOf('+500')).toContain('ORDER · gift-1')
    expect(await pageOf('19.98')).toContain('Nothing found')
  })

  test('is bounded: the newest 25 are shown, newest first, and that there are more', async () => {
    const client = newClient(rig.app.fetch, shop)
    for (let i = 0; i < 27; i++) await client.credit(user.serviceUserId, 0.07, `few-${i}`)
    const page = await pageOf('0.07')
    expect(page).toContain('the newest 25; there are more.')
    expect([...page.matchAll(/ORDER · few-(\d+)/g)].map(([, n]) => Number(n))).toEqual(
      Array.from({ length: 25 }, (_, i) => 26 - i),
    )
  })

  test('says since when it searched, when the time was up', async () => {
    const { pool } = rig.service.db.longRunning
    const holder = await pool.connect()
    await beginPatiently(holder)
    await holder.query('lock table transfers in access exclusive mode')
    const page = await pageOf('19.99').catch(String)
    await holder.query('rollback')
    holder.release()
    expect(page).toMatch(/searched the entries since 20.* There was no time for older ones/)
    expect(page).not.toContain('ORDER · order-1')
  })

  test('with two meanings is not guessed', async () => {
    expect(await pageOf('1.000')).toContain('two meanings: thousands or decimals')
  })

  test.each([
    ['19.99', '1999'],
    ['-1,250', '-125000'],
    ['+5 USD', '+500'],
    ['1.000', 'unclear'],
    ['0', undefined],
    ['€5', undefined],
    ['order 5', undefined],
    ['order-5', undefined],
    ['19.999', 'unclear'],
    ['9'.repeat(70), undefined],
    ['--5', undefined],
    ['', undefined],
    ['٥', '500'],
  ])('%j is read as %p', (text, expected) => {
    const read = parseAmount(text, parseCurrency('USD')!)
    expect(typeof read === 'object' ? `${read.sign}${read.amountMinor}` : read).toBe(expected)
  })
})

describe('the middle of an email', () => {
  test('shows the user, in any case, and no character is a wildcard', async () => {
    for (const q of ['lovelace', 'LOVELACE@ana', 'analytical', 'e@a']) {
      const page = await pageOf(q)
      expect(page).toContain('Users with it inside their email')
      expect(page).toContain('ada.lovelace@analytical.example')
      expect(page).not.toContain('grace_hopper')
    }
    expect(await pageOf('%_sure')).toContain('100%_sure@odd.example')
    for (const q of ['%lovelace', '_opper', 'love_ace']) expect(await pageOf(q)).not.toContain('Users with it inside')
  })

  test('of fewer than three characters is not searched for, and the page says so', async () => {
    const page = await pageOf('zq')
    expect(page).toContain('Nothing found')
    expect(page).toContain('part of an email (three characters or more, without spaces)')
  })
})

describe('operators', () => {
  test('are found by part of a name or an email, and invitations by part of the email', async () => {
    expect(await pageOf(viewer.email.slice(1, 9))).toContain(`${viewer.name} ${viewer.email} viewer active`)
    expect(await pageOf('w.hire@comp')).toContain('Invitation new.hire@company.example support open')
  })

  test('what a role finds, it may open', async () => {
    const queries = [...Object.values(ids), viewer.id, 'operator', 'SEPA', '19.99', 'lovelace', 'Fernweh', user.userId]
    for (const [role, who] of operators) {
      for (const q of queries) {
        const answer = await find(q, who)
        const html = mainOf(await answer.text())
        const links = [...html.matchAll(/href="(\/admin\/[^"]+)"/g)].map(([, path]) => path!.replaceAll('&amp;', '&'))
        const paths = new Set([...links, answer.headers.get('location') ?? '/admin'])
        expect(paths.size).toBeGreaterThan(0)
        for (const path of paths) expect([role, path, (await who.get(path)).status]).toEqual([role, path, 200])
      }
    }
  })

  test('are not found by a visitor who is not signed in', async () => {
    const visitor = await newOperator(rig, 'viewer')
    visitor.cookies.clear()
    const answer = await find(viewer.id, visitor)
    expect(answer.headers.get('location')).toStartWith('/admin/sign-in')
    expect(await answer.text()).not.toContain(viewer.email)
  })
})

test('a kind that does not answer is named, and the others show what they found', async () => {
  const { pool } = rig.service.db.longRunning
  const holder = await pool.connect()
  await beginPatiently(holder)
  await holder.query('lock table settlements in access exclusive mode')
  const page = await pageOf('fernweh').catch(String)
  await holder.query('rollback')
  holder.release()
  expect(page).toContain('No answer in time: a payout. The results below are not complete; search again.')
  expect(page).toContain(`Fernweh Books ${shop.clientId}`)
  expect(await pageOf('fernweh')).not.toContain('No answer in time')
})

test('a search without results names what was searched, what was not, and examples', async () => {
  const page = await pageOf('nobody-at-all')
  const [, searched, skipped] = /Searched: (.*) Not searched, because the text is not: (.*) Never searched: /.exec(
    page,
  )!
  for (const kind of ['users', 'emails', 'entries', 'holds', 'topups', 'payouts', 'apps', 'operators'] as const)
    expect(searched).toContain(kindTexts[kind].searched)
  for (const kind of ['days', 'amounts', 'corrections', 'secrets', 'notes', 'deletions'] as const) {
    expect(skipped).toContain(kindTexts[kind].form)
    expect(searched).not.toContain(kindTexts[kind].searched)
  }
  for (const kind of searchKinds) for (const example of kindTexts[kind].examples) expect(page).toContain(example)
  const byId = await pageOf(crypto.randomUUID())
  for (const kind of [
    'corrections',
    'payouts',
    'notes',
    'deletions',
    'operators',
    'secrets',
    'topups',
    'users',
  ] as const)
    expect(byId.split(' Not searched')[0]).toContain(kindTexts[kind].searched)
})

test.each([
  ['NUL', 'a\u0000b'],
  ['a lone surrogate', 'a\ud800b'],
  ['a reversed pair', '\udc00\ud800'],
  ['10 kB', 'x'.repeat(10_000)],
  ['10 kB of digits', '9'.repeat(10_000)],
  ['10 kB of emoji', '💸'.repeat(2_500)],
  ['wildcards', '%_%\\%'],
  ['right to left', '\u202eabc\u202c שלום'],
  ['Arabic digits', '١٩٫٩٩'],
  ['the largest character', '\u{10ffff}\u{10ffff}'],
  ['SQL', `'; drop table users; --`],
  ['markup', '<script>alert(1)</script>'],
  ['a negative day', '-5 0000-00-00'],
  ['exponents', '1e309'],
  ['line breaks', 'a\r\nb'],
  ['a regular expression', '(a+)+$'],
  ['a prefix without an id', 'req_'],
  ['spaces alone', '   '],
])('%s is an answer, never a fault', async (_, q) => {
  for (const raw of [encodeURIComponent(q.toWellFormed()), q === q.toWellFormed() ? '' : '%ED%A0%80', '%00%ff%']) {
    const answer = await viewer.get(`/admin/search?q=${raw}`)
    expect([200, 303]).toContain(answer.status)
    expect(await answer.text()).not.toContain('<script>alert')
  }
})

test('the guide for operators has every kind that the search finds', async () => {
  const guide = await readFile(new URL('../../../docs/operators.md', import.meta.url), 'utf8')
  const rows = guide.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  for (const kind of searchKinds) {
    const { what, examples, how } = kindTexts[kind]
    const row = rows.find((cells) => cells[1] === what)
    expect(row?.slice(2, 4)).toEqual([examples.map((example) => `\`${example}\``).join(', '), how])
  }
})
