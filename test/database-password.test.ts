/** A password with every awkward character reaches PostgreSQL as it is, given as compose gives it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { startEmbedded, type Embedded } from '../src/store/embedded/embedded.ts'
import { callCommand } from './command.ts'
import { copyNewDatabase } from './new-database.ts'

setDefaultTimeout(120_000)

const password = `p/@:#?%&'" ü`
let folder: string
let server: Embedded

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billfold-password-'))
  await copyNewDatabase(folder)
  server = await startEmbedded({ dataDir: folder, log: () => {} })
  const client = new Client({ ...server.connection, user: 'postgres' })
  await client.connect()
  await client.query(`create role careful login password '${password.replaceAll("'", "''")}'`)
  await client.query('create database careful owner careful')
  const rules = join(folder, 'postgres/pg_hba.conf')
  await writeFile(rules, `local all careful scram-sha-256\n${await readFile(rules, 'utf8')}`)
  await client.query('select pg_reload_conf()')
  await client.end()
})

afterAll(async () => {
  await server.release()
  await rm(folder, { recursive: true })
})

type Compose = { services: { billfold: { environment: Record<string, string> } } }

/** The settings that compose gives to the service, for this server. */
async function fromCompose(secret: string): Promise<Record<string, string>> {
  const file = Bun.YAML.parse(await readFile(new URL('../deploy/compose.yaml', import.meta.url), 'utf8')) as Compose
  const given = Object.entries(file.services.billfold.environment).filter(([name]) => name.startsWith('DATABASE_'))
  const host = encodeURIComponent(server.connection.host)
  const here = given.map(([name, text]) => [
    name,
    text
      .replace(/\$\{POSTGRES_PASSWORD[^}]*\}/, () => secret)
      .replace('postgres://billfold', 'postgres://careful')
      .replace('@postgres:5432/billfold', `@${host}/careful`),
  ])
  return Object.fromEntries(here) as Record<string, string>
}

test('the settings of compose.yaml sign in with any password, and only with the right one', async () => {
  expect(await callCommand(['migrate'], await fromCompose(password))).toMatchObject({ exitCode: 0, stderr: '' })
  const wrong = await callCommand(['migrate'], await fromCompose(`${password}x`))
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('password authentication failed') as string,
  ])
  expect(wrong.stderr).not.toContain('%C3%BC')
})
