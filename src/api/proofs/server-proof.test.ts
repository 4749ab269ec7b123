/** The routes of proofs: an app's own entries, and the public log. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { compareProofs, verifyProof } from '../../../sdk/verify.ts'
import { findSigners, parseCheckpoint, parseNote, parseSignerKey } from '../../../sdk/verify/note.ts'
import { addLeaves, noPeaks, rootOf } from '../../proof/merkle.ts'
import { newClient, type Client } from '../../../test/client.ts'
import { sealAll } from '../../../test/sealed-books.ts'
import { linkUser, newApp, newUser, openTestService } from '../../../test/service.ts'
import type { Credentials, TestService, TestUser } from '../../../test/service.ts'

let opened: TestService
let app: Credentials
let client: Client
let user: TestUser

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  user = await newUser(opened.service, app)
})
afterAll(async () => await opened.close())

const proofOf = async (referenceId: string, more: Record<string, string> = {}, by = client) =>
  await by.get('/api/server/proof', { referenceType: 'ORDER', referenceId, ...more })

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const fetchPublic = async (path: string) => await opened.app.fetch(new Request(`http://billfold.test/api/log/${path}`))

const post = async (by: Client, serviceUserId: string, referenceId: string, amount = 1) =>
  await by.credit(serviceUserId, amount, referenceId)

test('before the first seal the log has no state, no key and no tile', async () => {
  for (const path of ['checkpoint', 'key', 'tile/0/000.p/1']) expect((await fetchPublic(path)).status).toBe(404)
})

test('an app gets the proof of its own entry, and the key with which anybody checks it', async () => {
  await post(client, user.serviceUserId, 'a|1\\', 12.5)
  const { status, body } = await proofOf('a|1\\')
  expect(status).toBe(200)
  const { proof, key } = body as { proof: string; key: string }
  expect(await verifyProof(proof, { keys: [key] })).toMatchObject({
    ok: true,
    entry: { amountMinor: 1250n, texts: { referenceType: 'ORDER', referenceId: 'a|1\\' } },
  })
  expect(await (await fetchPublic('key')).text()).toBe(`${key}\n`)
})

test('an app gets no proof of an entry of another app, of the same user and the same reference', async () => {
  const other = await newApp(opened.service)
  const stranger = newClient(opened.app.fetch, other)
  expect(await proofOf('a|1\\', {}, stranger)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  await post(stranger, await linkUser(opened.service, other, user.userId), 'a|1\\', 3)
  const { body } = await proofOf('a|1\\', {}, stranger)
  const { proof, key } = body as { proof: string; key: string }
  expect(await verifyProof(proof, { keys: [key] })).toMatchObject({ ok: true, entry: { amountMinor: 300n } })
})

test('a proof since an earlier one continues its history', async () => {
  const before = String((await proofOf('a|1\\')).body['proof'])
  const verdict = await verifyProof(before, { keys: [String((await proofOf('a|1\\')).body['key'])] })
  const size = verdict.ok && verdict.kind === 'entry' ? verdict.entry.walletSize : 0
  await post(client, user.serviceUserId, 'later')
  const { body } = await proofOf('later', { since: String(size) })
  const { proof, key } = body as { proof: string; key: string }
  expect((await compareProofs([before, proof], { keys: [key] })).kind).toBe('kept')
  for (const since of ['0', '-1', '1.5', 'x', '', '9'.repeat(30)])
    expect(await proofOf('later', { since })).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  expect(await proofOf('later', { since: '1000000' })).toMatchObject({
    status: 400,
    body: { fields: { since: 'is more than the entries of this wallet' } },
  })
})

test('a refused debit and a reference that is none have no proof', async () => {
  const empty = await newUser(opened.service, app)
  await client.debit(empty.serviceUserId, 5, 'refused')
  for (const reference of ['refused', 'none']) expect((await proofOf(reference)).status).toBe(404)
})

test('anybody can compute the signed root from the tiles', async () => {
  for (let i = 0; i < 300; i++) await post(client, (await newUser(opened.service, app)).serviceUserId, `t${i}`)
  await sealAll(opened.service)
  const text = await (await fetchPublic('checkpoint')).text()
  const note = parseNote(text)!
  const key = (await parseSignerKey(await (await fetchPublic('key')).text()))!
  expect(await findSigners(note, [key])).toHaveLength(1)
  const { size, root } = parseCheckpoint(note.text)!
  expect(size).toBeGreaterThan(300)
  const tile = async (path: string) => {
    const response = await fetchPublic(`tile/${path}`)
    expect([path, response.status, response.headers.get('cache-control')]).toEqual([
      path,
      200,
      'public, max-age=31536000, immutable',
    ])
    const bytes = new Uint8Array(await response.arrayBuffer())
    return Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(i * 32, i * 32 + 32))
  }
  const leaves = [...(await tile('0/000')), ...(await tile(`0/001.p/${size - 256}`))]
  expect(leaves).toHaveLength(size)
  expect(hex(rootOf(addLeaves(noPeaks, leaves)))).toBe(hex(root))
  // The level above has the roots of whole tiles.
  expect((await tile('1/000.p/1')).map(hex)).toEqual([hex(rootOf(addLeaves(noPeaks, leaves.slice(0, 256))))])
})

test('a path that is no tile, or one that is not signed yet, is not found', async () => {
  const paths = [
    '0/001',
    '0/002.p/1',
    '0/001.p/0',
    '0/001.p/255',
    '1/000',
    '8/000',
    '-1/000',
    '0/1',
    '0/x000/000',
    '0/000.p/256',
    '0/000.p/1/2',
  ]
  for (const path of [...paths, `0/${'x001/'.repeat(5)}000`, '0/..%2f..', '0/%00', 'x/000', '2/000.p/1'])
    expect([path, (await fetchPublic(`tile/${path}`)).status]).toEqual([path, 404])
})

test('nothing public names a user, an app or a wallet', async () => {
  const texts = [await (await fetchPublic('checkpoint')).text(), await (await fetchPublic('key')).text()]
  const tile = Buffer.from(await (await fetchPublic('tile/0/000')).arrayBuffer()).toString('hex')
  for (const secret of [user.userId, user.serviceUserId, app.clientId]) {
    expect(texts.join()).not.toContain(secret)
    expect(tile).not.toContain(createHash('sha256').update(secret).digest('hex'))
  }
})
