import { describe, expect, setDefaultTimeout, test, afterAll, beforeAll } from 'bun:test'
import { adminForms, type AdminForms } from '../../../test/admin-forms.ts'
import { newOperator, password, type TestOperator } from '../../../test/operator.ts'
import { letPass } from '../../../test/time.ts'
import { openBench, type Bench } from '../../../test/topup/rig.ts'
import { findCorrection } from '../../store/corrections.ts'
import { insertGrant, type GrantKind, type RecentGrant } from '../../store/operator-access/operator-grants.ts'
import { approveCorrection, declineCorrection } from '../money/correct-wallet.ts'
import { createOperator } from './manage-operators.ts'
import { decideDependence, findDependence, isAdminThrough } from './independence.ts'

setDefaultTimeout(180_000)

const ids = Object.fromEntries(
  ['x', 'y', 'z', 'w'].map((name) => [name, `01900000-0000-7000-8000-00000000000${'xyzw'.indexOf(name)}`]),
)
const actor = (name: string) => (ids[name] ? `operator:${ids[name]}` : name)
const now = Date.parse('2026-03-01T12:00:00Z')
const dayMs = 86_400_000

type Row = readonly [to: string, kind: GrantKind, by: string, daysAgo?: number, approvedBy?: string]
const grantOf = ([to, kind, by, daysAgo = 1, approvedBy]: Row): RecentGrant => ({
  operatorId: ids[to]!,
  kind,
  at: new Date(now - daysAgo * dayMs),
  madeBy: actor(by),
  approvedBy: approvedBy === undefined ? null : actor(approvedBy),
  endsAt: new Date(now + (7 - daysAgo) * dayMs),
  isFresh: daysAgo < 1,
})

/** The approver is y, the asker x. The expected value is the days until they are independent. */
const cases: [name: string, grants: Row[], days: number | undefined, asker?: string, approver?: string][] = [
  ['no grant', [], undefined],
  ['the asker invited the approver', [['y', 'invited', 'x', 2]], 5],
  ['the asker reset the approver', [['y', 'reset', 'x', 2]], 5],
  ['the approver used a reset link of the asker', [['y', 'renewed', 'x', 2]], 5],
  ['the asker gave the approver a role', [['y', 'role', 'x', 2]], 5],
  ['the asker gave the approver access back', [['y', 'restored', 'x', 2]], 5],
  ['the asker approved the invitation of the approver', [['y', 'invited', 'w', 2, 'x']], 5],
  ['the approver invited the asker', [['x', 'invited', 'y', 2]], 5],
  ['a third operator invited the approver', [['y', 'invited', 'w', 2]], undefined],
  [
    'one operator invited both',
    [
      ['y', 'invited', 'w', 2],
      ['x', 'invited', 'w', 3],
    ],
    4,
  ],
  [
    'a chain whose first grant is the oldest',
    [
      ['z', 'invited', 'x', 1],
      ['y', 'reset', 'z', 4],
    ],
    3,
  ],
  [
    'a chain from the asker to the approver',
    [
      ['z', 'invited', 'x', 4],
      ['y', 'reset', 'z', 1],
    ],
    3,
  ],
  [
    'of two chains the longer lasting',
    [
      ['y', 'reset', 'x', 5],
      ['y', 'role', 'x', 1],
    ],
    6,
  ],
  [
    'a circle',
    [
      ['y', 'role', 'z', 2],
      ['z', 'role', 'y', 1],
    ],
    undefined,
  ],
  ['any reset used in the last day', [['y', 'renewed', 'w', 0.5]], 0.5],
  ['any reset used in the last day, of the asker', [['x', 'renewed', 'w', 0.5]], undefined],
  ['a reset of the command line used two days ago', [['y', 'renewed', 'cli:root@host', 2]], undefined],
  [
    'the command line created both',
    [
      ['y', 'created', 'cli:a', 2],
      ['x', 'created', 'cli:b', 2],
    ],
    undefined,
  ],
  ['the command line created the approver and asks', [['y', 'created', 'cli:a', 2]], 5, 'cli:b'],
  [
    'the command line approves what an operator it created asks',
    [['x', 'created', 'cli:a', 2]],
    undefined,
    'x',
    'cli:b',
  ],
  ['the service itself created the approver', [['y', 'created', 'system', 2]], undefined],
]

describe('two actors', () => {
  test.each(cases)('%s', (_, rows, days, asker = 'x', approver = 'y') => {
    const grants = rows.map(grantOf)
    const found = decideDependence({ approver: actor(approver), asker: actor(asker) }, grants, grants)
    expect(found && (found.endsAt.getTime() - now) / dayMs).toBe(days)
  })
})

const by = (who: TestOperator) => ({ name: `operator:${who.id}`, address: null })

describe('a correction', () => {
  let bench: Bench
  let forms: AdminForms
  let ada: TestOperator
  let bob: TestOperator
  let eve: TestOperator

  beforeAll(async () => {
    bench = await openBench({}, 20_000)
    ada = await newOperator(bench.opened)
    bob = await newOperator(bench.opened)
    eve = await newOperator(bench.opened)
    forms = adminForms(bench, ada)
  })
  afterAll(() => bench.close())

  const asks = (who: TestOperator) => forms.waitingCorrection(`operator:${who.id}`)
  const give = (to: TestOperator, kind: GrantKind, from: TestOperator) =>
    insertGrant(bench.service.db.pool, {
      operatorId: to.id,
      kind,
      madeBy: `operator:${from.id}`,
      approvedBy: null,
    })
  const letDaysPass = (days: number) => letPass(bench.service.db.pool, days * dayMs, ['operator_grants'])

  test.each(['invited', 'reset', 'renewed', 'role', 'restored'] as const)(
    'is not approved by an operator %s by the one who asked, for seven days',
    async (kind) => {
      await letDaysPass(8)
      const id = await asks(ada)
      await give(bob, kind, ada)
      expect(await approveCorrection(bench.service, by(bob), id)).toMatchObject({ problem: 'dependent' })
      expect((await findCorrection(bench.service.db.pool, id))!.state).toBe('waiting')
      await letDaysPass(6.9)
      expect(await approveCorrection(bench.service, by(bob), id)).toMatchObject({ problem: 'dependent' })
      await letDaysPass(0.2)
      expect(await approveCorrection(bench.service, by(bob), id)).toMatchObject({ correction: { state: 'done' } })
    },
  )

  test('is not approved through a chain of grants, and another operator approves it', async () => {
    await letDaysPass(8)
    const other = await newOperator(bench.opened)
    await give(bob, 'invited', ada)
    await give(eve, 'reset', bob)
    const id = await asks(ada)
    expect(await approveCorrection(bench.service, by(eve), id)).toMatchObject({
      problem: 'dependent',
      dependence: { kind: 'given', grants: [{ operatorId: eve.id }, { operatorId: bob.id }] },
    })
    expect(await approveCorrection(bench.service, by(other), id)).toMatchObject({ correction: { state: 'done' } })
  })

  test('can still be declined by an operator who may not approve it', async () => {
    await letDaysPass(8)
    await give(bob, 'reset', ada)
    const id = await asks(ada)
    expect(await declineCorrection(bench.service, by(bob), id, 'no')).toMatchObject({
      correction: { state: 'declined' },
    })
  })

  test('shows the reason and its end in place of the button, and who gave access', async () => {
    await letDaysPass(8)
    await give(bob, 'reset', ada)
    const id = await asks(ada)
    const seen = await (await bob.get(`/admin/corrections/${id}`)).text()
    expect(seen).not.toContain('/approve"')
    expect(seen).toContain('/decline"')
    const { endsAt } = (await findDependence(bench.service.db.pool, {
      approver: `operator:${bob.id}`,
      asker: `operator:${ada.id}`,
    }))!
    expect(seen).toContain(`This ends <time datetime="${endsAt.toISOString()}"`)
    expect(seen.replace(/<[^>]+>/g, '')).toContain(`${bob.name}: access reset by ${ada.name}`)
    expect((await bob.post(`/admin/corrections/${id}/approve`)).status).toBe(409)
    const free = await (await eve.get(`/admin/corrections/${id}`)).text()
    expect(free).toContain('/approve"')
    await eve.post(`/admin/corrections/${id}/approve`)
    expect((await findCorrection(bench.service.db.pool, id))!.state).toBe('done')
  })

  test('of the command line is approved by the first operator, and not by the next one that it created', async () => {
    const rig = await openBench({}, 20_000)
    const cli = { name: 'cli:root@host', address: null }
    const create = (name: string) =>
      createOperator(rig.service, cli, { email: `${name}@example.com`, name, password, role: 'admin' })
    const [first, next] = [await create('first'), await create('next')]
    const known = adminForms(rig, await newOperator(rig.opened))
    const id = await known.waitingCorrection('cli:another@host')
    const approve = (operatorId: string | undefined) =>
      approveCorrection(rig.service, { name: `operator:${operatorId}`, address: null }, id)
    expect(await approve(next)).toMatchObject({ problem: 'dependent' })
    expect(await approve(first)).toMatchObject({ correction: { state: 'done' } })
    await rig.close()
  })

  test('an operator is an admin through another one by a chain, and not the other way round', async () => {
    await letDaysPass(8)
    await give(bob, 'invited', ada)
    await give(eve, 'invited', bob)
    const { pool } = bench.service.db
    expect(await isAdminThrough(pool, eve.id, `operator:${ada.id}`)).toBe(true)
    expect(await isAdminThrough(pool, ada.id, `operator:${eve.id}`)).toBe(false)
    await letDaysPass(8)
    await give(bob, 'reset', ada)
    expect(await isAdminThrough(pool, bob.id, `operator:${ada.id}`)).toBe(false)
  })
})
