/** The commands in docs/operators.md are run, on data that has what they name. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { grantBonus } from '../src/actions/money/grant-bonus.ts'
import { newId } from '../src/actions/tokens.ts'
import { referenceKeyOf, transactionIdOf } from '../src/store/outcomes.ts'
import { adminForms } from './admin-forms.ts'
import { callCommand } from './command.ts'
import { newOperator, password } from './operator.ts'
import { newUser, secretsKey } from './service.ts'
import { openBench } from './topup/rig.ts'

setDefaultTimeout(180_000)

const bench = await openBench({}, 20_000)
afterAll(() => bench.close())

const text = await readFile(new URL('../docs/operators.md', import.meta.url), 'utf8')
const lines = [...text.matchAll(/^npx billfold (.*)$/gm)].map(([, line]) => line!)

test('every command of the page does what the page says', async () => {
  const known = adminForms(bench, await newOperator(bench.opened))
  const { userId } = await newUser(bench.service, bench.credentials)
  const bonus = { walletId: userId, amountMinor: 25_00n, referenceId: newId(), reason: 'Welcome' }
  await grantBonus(bench.service, { name: 'test', address: null }, bonus)
  const key = referenceKeyOf({ namespace: 'service', type: 'BONUS', id: bonus.referenceId })
  const folder = await mkdtemp(join(tmpdir(), 'billfold-operators-docs-'))
  const real = {
    'ann.json': join(folder, 'ann.json'),
    'ann@example.com': `${userId}@example.com`,
    txn_0123456789abcdef0123456789abcdef: transactionIdOf(key),
    '01900000-0000-7000-8000-000000000000': await known.waitingCorrection('operator:somebody'),
    hold_0123456789abcdef0123456789abcdef: await known.openHold(),
    app_0123456789abcdef0123: await known.owedApp(),
  }
  // The last admin can be neither removed nor given another role.
  await newOperator(bench.opened)
  const environment = {
    DATABASE_URL: bench.opened.databaseUrl,
    BILLFOLD_PASSWORD: password,
    SECRETS_KEY: secretsKey,
  }
  expect(lines.length).toBeGreaterThan(6)
  for (const line of lines) {
    const whole = Object.entries(real).reduce((written, [name, value]) => written.replaceAll(name, value), line)
    const args = [...whole.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
    const { exitCode, stderr } = await callCommand(args, environment)
    expect([line, exitCode, stderr]).toEqual([line, 0, ''])
  }
  expect(JSON.parse(await readFile(real['ann.json'], 'utf8'))).toMatchObject({ account: { userId } })
  await rm(folder, { recursive: true })
})
