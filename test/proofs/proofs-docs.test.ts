/** The commands of docs/proofs.md, run as they are written there. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readLogSeed, readPublicKey } from '../../src/actions/proofs/checkpoint.ts'
import { proveEntry } from '../../src/actions/proofs/prove-entry.ts'
import { signNote } from '../../src/proof/sign-note.ts'
import { newClient } from '../client.ts'
import { newApp, newUser, openTestService, type TestService } from '../service.ts'
import { queryEach } from '../sealed-books.ts'
import { logOf, newestOf } from './seal-now.ts'

setDefaultTimeout(180_000)

const root = new URL('../../', import.meta.url).pathname
let opened: TestService
let folder: string

beforeAll(async () => {
  opened = await openTestService()
  folder = await mkdtemp(join(tmpdir(), 'billfold-proofs-docs-'))
  const app = await newApp(opened.service)
  const { userId: walletId, serviceUserId } = await newUser(opened.service, app)
  await newClient(opened.app.fetch, app).credit(serviceUserId, 12.5)
  const proof = await proveEntry(opened.service, { walletId, sequence: 1 })
  if (proof.kind !== 'proof') throw new Error(proof.kind)
  const files = {
    'proof.txt': proof.file,
    'checkpoint.txt': (await newestOf(opened.service)).note,
    'key.txt': `${await readPublicKey(opened.service, await logOf(opened.service))}\n`,
    'check-payment.mjs': (await blockOf('js check-payment.mjs')).replace(
      '@billfold/sdk/verify',
      join(root, 'sdk/verify.ts'),
    ),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
})
afterAll(async () => {
  await opened.close()
  await rm(folder, { recursive: true })
})

async function blockOf(name: string): Promise<string> {
  const text = await readFile(join(root, 'docs/proofs.md'), 'utf8')
  const block = text.split(`\`\`\`${name}\n`)[1]?.split('```')[0]
  if (block === undefined) throw new Error(`docs/proofs.md has no block ${name}`)
  return block
}

async function run(): Promise<{ readonly code: number; readonly said: string }> {
  const [, ...args] = (await blockOf('sh check-payment')).trim().split(' ')
  const child = Bun.spawn([process.execPath, ...args], { cwd: folder, stdout: 'pipe', stderr: 'inherit' })
  return { code: await child.exited, said: (await new Response(child.stdout).text()).trim() }
}

test('a proof and a checkpoint that was kept elsewhere agree', async () => {
  expect(await run()).toEqual({ code: 0, said: 'Entry 1: 1250 USD' })
})

test('a checkpoint of other books is found', async () => {
  const { origin, size, note } = await newestOf(opened.service)
  const other = `${origin}\n${size}\n${Buffer.alloc(32, 7).toString('base64')}\n`
  const seed = await readLogSeed(opened.service, await logOf(opened.service))
  await writeFile(join(folder, 'checkpoint.txt'), await signNote(other, origin, seed))
  expect(await run()).toMatchObject({ code: 1, said: expect.stringContaining('two versions of the books') as string })
  await writeFile(join(folder, 'checkpoint.txt'), note)
})

test('a proof with another amount is refused', async () => {
  const path = join(folder, 'proof.txt')
  const proof = await readFile(path, 'utf8')
  const [, extra = ''] = /^extra (.*)$/m.exec(proof) ?? []
  const changed = Buffer.from(extra, 'base64').toString().replace('"1250"', '"9950"')
  await writeFile(path, proof.replace(extra, Buffer.from(changed).toString('base64')))
  expect(await run()).toEqual({ code: 1, said: 'The signed books do not contain what this file says.' })
  await writeFile(path, proof)
})

test('the whole books are compared with the checkpoint that was kept elsewhere', async () => {
  const command = (await blockOf('sh verify-books')).replace(
    'npx billfold',
    `${process.execPath} ${join(root, 'src/cli.ts')}`,
  )
  const env = { ...process.env, DATABASE_URL: opened.databaseUrl }
  const verify = async () => {
    const child = Bun.spawn(['sh', '-c', command], { cwd: folder, env, stdout: 'pipe', stderr: 'inherit' })
    return [await child.exited, await new Response(child.stdout).text()] as const
  }
  expect(await verify()).toEqual([0, expect.stringContaining('The books are what was signed')])
  await queryEach(
    opened.service.db.pool,
    `alter table transfers disable trigger user; grant update on transfers to current_user;
    update transfers set description = 'another'`,
  )
  expect(await verify()).toEqual([1, expect.stringContaining('entry 1 is not what was sealed')])
})
