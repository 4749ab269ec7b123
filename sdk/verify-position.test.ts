import { beforeAll, describe, expect, test } from 'bun:test'
import { newKeySeed, publishedKey } from '../src/proof/sign-note.ts'
import { makePositions } from './test/made-positions.ts'
import { parseProof, writeProof, type PositionProof } from './verify/proof-file.ts'
import { compareProofs, verifyProof, type ProofVerdict } from './verify.ts'

const origin = 'wallet.example/books/1'
const seed = newKeySeed()
const day = '2026-03-03'
let key: string

beforeAll(async () => {
  key = await publishedKey(origin, seed)
})

const makeProofs = async (count: number, signedAt: Date | null = null) =>
  await makePositions(count, { origin, seed, day, signedAt })

const verify = async (proof: PositionProof | string) =>
  await verifyProof(typeof proof === 'string' ? proof : writeProof(proof), { keys: [key] })

test('every account of a day is proven by its file, which is read as it was written', async () => {
  for (const count of [1, 2, 3, 8, 21]) {
    const time = new Date('2026-03-04T02:00:00.123Z')
    for (const proof of (await makeProofs(count, time)).proofs) {
      const file = writeProof(proof)
      expect(parseProof(file)).toEqual(proof)
      expect(file.length).toBeLessThan(4096)
      const { debitedMinor, creditedMinor } = proof.position
      expect(await verify(file)).toEqual({
        ok: true,
        kind: 'position',
        position: {
          ...proof.position,
          balanceMinor: debitedMinor - creditedMinor,
          origin,
          logSize: 3,
          signedAt: time,
          signedBy: [origin],
        },
      })
      expect((await verify(file.replaceAll('\n', '\r\n'))).ok).toBe(true)
    }
  }
})

test('a file shows nothing of another account and not the sum of all wallets', async () => {
  const { proofs } = await makeProofs(8)
  const seen = proofs.map((proof) => Buffer.from(writeProof(proof).split('\n')[1]!.slice('extra '.length), 'base64'))
  for (const [i, text] of seen.entries())
    for (const [other, { position, salt }] of proofs.entries())
      expect([
        i,
        other,
        text.includes(JSON.stringify(position.account)),
        text.includes(Buffer.from(salt).toString('base64')),
      ]).toEqual([i, other, i === other, i === other])
  expect(seen.some((text) => text.includes('"-7"'))).toBe(false)
})

test('no character of a file can change what it proves', async () => {
  const file = writeProof((await makeProofs(5, new Date('2026-03-04T02:00:00.123Z'))).proofs[3]!)
  const right = await verify(file)
  for (let i = 0; i < file.length; i++)
    for (const char of file[i] === 'A' ? 'B' : 'A\n') {
      const verdict = await verify(file.slice(0, i) + char + file.slice(i + 1))
      if (verdict.ok) expect<ProofVerdict>(verdict).toEqual(right)
    }
})

test('no flipped bit of what it says is passed over', async () => {
  const [first, extra = '', ...rest] = writeProof((await makeProofs(3)).proofs[1]!).split('\n')
  const bytes = Buffer.from(extra.slice('extra '.length), 'base64')
  for (let i = 0; i < bytes.length; i++)
    for (let bit = 0; bit < 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[i]! ^= 2 ** bit
      const verdict = await verify([first, `extra ${flipped.toString('base64')}`, ...rest].join('\n'))
      expect([i, bit, verdict.ok]).toEqual([i, bit, false])
    }
})

describe('a changed position is not in the books:', () => {
  const changes: Record<string, (proof: PositionProof) => Partial<PositionProof>> = {
    day: ({ position }) => ({ position: { ...position, day: '2026-03-04' } }),
    account: ({ position }) => ({ position: { ...position, account: 'app:other' } }),
    currency: ({ position }) => ({ position: { ...position, currency: 'EUR' } }),
    received: ({ position }) => ({ position: { ...position, debitedMinor: position.debitedMinor + 1n } }),
    paid: ({ position }) => ({ position: { ...position, creditedMinor: position.creditedMinor + 1n } }),
    entries: ({ position }) => ({ position: { ...position, entries: position.entries + 1n } }),
    salt: () => ({ salt: new Uint8Array(32) }),
    line: ({ line }) => ({ line: line + 1 }),
    lines: ({ lines }) => ({ lines: lines + 1 }),
    'place in the log': () => ({ index: 0 }),
  }
  for (const [name, change] of Object.entries(changes))
    test(name, async () => {
      const proof = (await makeProofs(5)).proofs[3]!
      expect(await verify({ ...proof, ...change(proof) })).toMatchObject({ ok: false, fault: 'NOT_IN_THE_BOOKS' })
    })
})

test('fields of a wrong type or shape are no proof', async () => {
  const file = writeProof((await makeProofs(3)).proofs[1]!)
  const [first, extra = '', ...rest] = file.split('\n')
  const fields = JSON.parse(Buffer.from(extra.slice('extra '.length), 'base64').toString()) as Record<string, unknown>
  const wrong: Record<string, readonly unknown[]> = {
    version: [0, 2, '1', null],
    day: ['', '2026-3-3', '2026-13-01', 'x', 20260303, null, '2026-03-03\n'],
    account: [1, null, '\ud800'],
    currency: ['', 'usd', 'USDX', 1],
    debitedMinor: ['-1', '01', '1.0', '', 1, 'x', '9'.repeat(41)],
    creditedMinor: ['-1', ' 1', null],
    entries: ['-1', '1e3', 3],
    salt: ['', 'AAAA', 'x', 1, null],
    line: [0, -1, 1.5, '1', null],
    lines: [0, -1, '4', 1e300],
    linePath: [null, 'x', ['AAAA'], [1], Array.from({ length: 65 }, () => fields['salt'])],
  }
  for (const [name, values] of Object.entries(wrong))
    for (const value of [...values, undefined]) {
      const changed = Buffer.from(JSON.stringify({ ...fields, [name]: value })).toString('base64')
      const verdict = await verify([first, `extra ${changed}`, ...rest].join('\n'))
      expect([name, value, verdict]).toMatchObject([name, value, { ok: false, fault: 'NOT_A_PROOF' }])
    }
})

test('a position is compared with nothing', async () => {
  const { proofs, entry } = await makeProofs(2)
  const [a = '', b = ''] = proofs.map(writeProof)
  for (const files of [
    [a, b],
    [a, writeProof(entry)],
    [writeProof(entry), a],
  ] as const)
    expect((await compareProofs(files, { keys: [key] })).kind).toBe('no-wallet')
})
