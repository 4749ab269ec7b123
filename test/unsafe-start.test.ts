/** A start that is refused, because of what is in the database. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createDemo } from '../src/actions/demo.ts'
import { setAppActive } from '../src/actions/apps/manage-apps.ts'
import { callCommand } from './command.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { startProcess, workersOf } from './process.ts'
import { openTestService, operator, secretsKey, type TestService } from './service.ts'

setDefaultTimeout(180_000)

let opened: TestService
beforeAll(async () => void (opened = await openTestService()))
afterAll(() => opened.close())

const start = (changes: Record<string, string>) =>
  startProcess({
    DATABASE_URL: opened.databaseUrl,
    SECRETS_KEY: secretsKey,
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://wallet.example',
    SMTP_URL: 'smtp://127.0.0.1:1',
    CARD_PROCESSOR: 'none',
    ...changes,
  })
const complaintOf = (WORKERS: string) =>
  start({ WORKERS }).then(
    async (service) => `it started, and ended with ${await service.stop()}`,
    (error: Error) => error.message,
  )

test('production refuses the demo with the commands that end it, once, and starts when they were run', async () => {
  const { clientId, email } = await createDemo(opened.service, { shopPort: 4001 })
  const said = `the service ended with 1: Not safe for production:
  - The demo app is active. Deactivate it: npx billfold app deactivate ${clientId}
  - The demo user ${email} has a well-known password. Freeze the wallet: npx billfold wallet freeze ${email} --reason demo
`
  expect(await complaintOf('1')).toBe(said)
  expect(await complaintOf('2')).toBe(said)
  for (const [, command] of said.matchAll(/npx billfold (.+)$/gm)) {
    const { exitCode } = await callCommand(command!.split(' '), { DATABASE_URL: opened.databaseUrl })
    expect([command, exitCode]).toEqual([command, 0])
  }
  expect(await complaintOf('2')).toBe('it started, and ended with 0')
})

test('where new workers would be refused, the old ones stay and serve', async () => {
  const PORT = String(await freePort())
  const service = await start({ WORKERS: '2', PORT })
  const { clientId } = await createDemo(opened.service, { shopPort: 4001 })
  await setAppActive(opened.service, operator, clientId, true)
  const before = workersOf(service)
  process.kill(service.pid, 'SIGHUP')
  await eventually(() => service.output().includes('a new worker could not start; the old ones stay'), true)
  expect(workersOf(service)).toEqual(before)
  expect((await fetch(`http://127.0.0.1:${PORT}/readyz`)).status).toBe(200)
  expect(await service.stop()).toBe(0)
})
