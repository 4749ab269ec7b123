import { afterAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSecrets } from './open-secrets.ts'
import { KeyMissing, seal, toSecretKey, unseal } from './seal.ts'

const keyOf = (letter: string) => toSecretKey(Buffer.alloc(32, letter).toString('base64'))
const [a, b] = [keyOf('a'), keyOf('b')]
const place = { purpose: 'operator-totp', id: '1' }
const folder = await mkdtemp(join(tmpdir(), 'billfold-keys-'))
afterAll(() => rm(folder, { recursive: true }))

test('a sealed text opens with its key among others, and is another text each time', () => {
  const [one, two] = [seal(a, 'JBSWY3DP', place), seal(a, 'JBSWY3DP', place)]
  expect(one).not.toBe(two)
  expect(one).toStartWith(`sealed:1:${a.id}:`)
  expect(unseal([b, a], one, place)).toBe('JBSWY3DP')
})

test('a sealed text does not open in another row or for another purpose', () => {
  const sealed = seal(a, 'JBSWY3DP', place)
  expect(() => unseal([a], sealed, { ...place, id: '2' })).toThrow()
  expect(() => unseal([a], sealed, { ...place, purpose: 'webhook' })).toThrow()
})

test('a sealed text that was changed or shortened does not open', () => {
  const sealed = seal(a, 'JBSWY3DP', place)
  const start = sealed.lastIndexOf(':') + 1
  for (let i = start; i < sealed.length; i++) {
    const other = sealed[i] === 'A' ? 'B' : 'A'
    const changed = sealed.slice(0, i) + other + sealed.slice(i + 1)
    expect(() => unseal([a], changed, place)).toThrow()
  }
  for (const more of ['A', 'AA', '=', '!', ' ']) expect(() => unseal([a], sealed + more, place)).toThrow()
  for (const length of [0, 1, 12, 27, 30]) expect(() => unseal([a], sealed.slice(0, start + length), place)).toThrow()
})

test('a plain text is not taken for a secret, and a missing key is named', () => {
  expect(() => unseal([a], 'JBSWY3DP', place)).toThrow('not encrypted')
  const sealed = seal(b, 'JBSWY3DP', place)
  expect(() => unseal([a], sealed, place)).toThrow(KeyMissing)
  expect(() => unseal([a], sealed, place)).toThrow(b.id)
})

test('of many that make the key of a data folder at once, all get the same, and the user alone can read it', async () => {
  const dataDir = join(folder, 'many')
  const keys = await Promise.all(
    Array.from({ length: 50 }, async () => (await openSecrets({ secretsKeys: [], dataDir }).keys())[0]!.id),
  )
  expect(new Set(keys).size).toBe(1)
  expect(await readdir(dataDir)).toEqual(['secrets.key'])
  expect((await stat(join(dataDir, 'secrets.key'))).mode & 0o777).toBe(0o600)
})

test('looking which keys are known makes none', async () => {
  const dataDir = join(folder, 'none')
  expect(await openSecrets({ secretsKeys: [], dataDir }).knownKeys()).toEqual([])
  expect(await readdir(folder)).not.toContain('none')
})

test('a key file that is damaged is said, and never replaced', async () => {
  await writeFile(join(folder, 'secrets.key'), 'half a k')
  const secrets = openSecrets({ secretsKeys: [], dataDir: folder })
  expect(await secrets.seal('x', place).catch(String)).toContain('holds no key')
})
