/** Commands and a start on a database server that needs more than two seconds to open a connection, as on a machine that is too busy. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { callCommand } from '../../test/command.ts'
import { openForwarder } from '../../test/forwarder.ts'
import { testDatabase } from '../../test/postgres.ts'
import { startProcess } from '../../test/process.ts'

setDefaultTimeout(180_000)

const database = await testDatabase()
const forwarder = await openForwarder(database.connection)
afterAll(async () => {
  forwarder.close()
  await database.drop()
})

// Opening a connection takes two round trips, so 2.2 s: more than a request has, and far less than a command has.
forwarder.slowDown(550)

test.concurrent.each(['admin create --email ada@example.com', 'admin list', 'period list', 'migrate', 'doctor'])(
  '%s works',
  async (line) => {
    const environment = { DATABASE_URL: forwarder.url, BILLFOLD_PASSWORD: 'correct horse battery staple' }
    expect(await callCommand([...line.split(' '), '--json'], environment)).toMatchObject({ exitCode: 0, stderr: '' })
  },
)

test.concurrent('a start works', async () => {
  const service = await startProcess({ DATABASE_URL: forwarder.url })
  expect(service.output()).toContain('billfold ready')
  expect(await service.stop()).toBe(0)
})
