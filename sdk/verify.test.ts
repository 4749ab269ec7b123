import { beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { checkpointText, newKeySeed, publishedKey, signNote } from '../src/proof/sign-note.ts'
import { entryLeaf, hashTexts, headLeaf, textsBytes, type EntryTexts } from './verify/leaves.ts'
import { entriesOf, grow, nasty } from './test/made-proofs.ts'
import { parseProof, writeProof, type EntryProof } from './verify/proof-file.ts'
import { verifyProof, type ProofVerdict } from './verify.ts'

const origin = 'wallet.example/books/1'
const seed = newKeySeed()
const signedAt = new Date('2026-03-04T02:00:00.123Z')
let key: string

beforeAll(async () => {
  key = await publishedKey(origin, seed)
})

/** The proofs of all entries of a few wallets in one log. */
async function makeProofs(): Promise<EntryProof[]> {
  const wallets = await Promise.all(
    [1, 2, 7, 20].map(async (count) => {
      const wallet = createHash('sha256').update(String(count)).digest('hex')
      const entries = entriesOf(wallet, count)
      const leaves = entries.map(async ({ entry, texts, salt }) => entryLeaf(entry, await hashTexts(texts, salt)))
      return { wallet, entries, tree: grow(await Promise.all(leaves)) }
    }),
  )
  const log = grow(wallets.map(({ wallet, tree: { size, root } }) => headLeaf({ wallet, size, root })))
  const checkpoint = await signNote(checkpointText({ origin, size: log.size, root: log.root, signedAt }), origin, seed)
  return wallets.flatMap(({ entries, tree }, index) =>
    entries.map(({ entry, texts, salt }) => ({
      entry,
      words: { texts, salt },
      walletSize: tree.size,
      walletPath: tree.pathOf(entry.sequence - 1),
      since: null,
      index,
      path: log.pathOf(index),
      checkpoint,
    })),
  )
}

const faultOf = async (file: string, keys = [key], checkpoint?: string) => {
  const verdict = await verifyProof(file, { keys, ...(checkpoint !== undefined && { checkpoint }) })
  return verdict.ok ? null : verdict.fault
}

test('every entry is proven by its file, which is read as it was written', async () => {
  for (const proof of await makeProofs()) {
    const file = writeProof(proof)
    expect(parseProof(file)).toEqual(proof)
    expect(file.length).toBeLessThan(4096)
    const verdict = await verifyProof(file, { keys: [key] })
    expect(verdict).toMatchObject({
      ok: true,
      entry: {
        sequence: proof.entry.sequence,
        amountMinor: proof.entry.amountMinor,
        walletSize: proof.walletSize,
        texts: proof.words.texts!,
        origin,
        signedAt,
        signedBy: [origin],
      },
    })
    expect(await faultOf(file.replaceAll('\n', '\r\n'))).toBeNull()
  }
})

test('erased words keep their proof', async () => {
  for (const proof of await makeProofs()) {
    const { texts, salt } = proof.words as { texts: EntryTexts; salt: Uint8Array }
    const file = writeProof({ ...proof, words: { texts: null, textsHash: await hashTexts(texts, salt) } })
    expect(await verifyProof(file, { keys: [key] })).toMatchObject({ ok: true, entry: { texts: null } })
  }
})

test('no character of a proof can change what it proves', async () => {
  const file = writeProof((await makeProofs()).at(-3)!)
  const right = await verifyProof(file, { keys: [key] })
  for (let i = 0; i < file.length; i++)
    for (const char of file[i] === 'A' ? 'B' : 'A\n') {
      const verdict = await verifyProof(file.slice(0, i) + char + file.slice(i + 1), { keys: [key] })
      if (verdict.ok) expect<ProofVerdict>(verdict).toEqual(right)
    }
})

describe('a changed entry is not in the books:', () => {
  const changes: Record<string, (proof: EntryProof) => Partial<EntryProof>> = {
    amount: ({ entry }) => ({ entry: { ...entry, amountMinor: entry.amountMinor + 1n } }),
    currency: ({ entry }) => ({ entry: { ...entry, currency: 'EUR' } }),
    time: ({ entry }) => ({ entry: { ...entry, atMicros: entry.atMicros + 1n } }),
    wallet: ({ entry }) => ({ entry: { ...entry, wallet: '0'.repeat(64) } }),
    sequence: ({ entry }) => ({ entry: { ...entry, sequence: entry.sequence + 1 } }),
    size: ({ walletSize }) => ({ walletSize: walletSize + 1 }),
    'place in the log': ({ index }) => ({ index: index - 1 }),
    salt: ({ words }) => ({ words: { texts: words.texts!, salt: new Uint8Array(32) } }),
    texts: ({ words }) => ({
      words: {
        ...(words as { texts: EntryTexts; salt: Uint8Array }),
        texts: { ...words.texts!, referenceId: 'other' },
      },
    }),
  }
  for (const [name, change] of Object.entries(changes))
    test(name, async () => {
      const proof = (await makeProofs()).at(-4)!
      expect(await faultOf(writeProof({ ...proof, ...change(proof) }))).toBe('NOT_IN_THE_BOOKS')
    })
})

test('only a trusted key with the log’s own name counts', async () => {
  const file = writeProof((await makeProofs())[0]!)
  const stranger = newKeySeed()
  expect(await faultOf(file, [])).toBe('UNKNOWN_SIGNER')
  expect(await faultOf(file, ['no key'])).toBe('UNKNOWN_SIGNER')
  expect(await faultOf(file, [await publishedKey(origin, stranger)])).toBe('UNKNOWN_SIGNER')
  expect(await faultOf(file, [await publishedKey(origin, stranger), key])).toBeNull()
  const other = (await makeProofs())[0]!
  const log = parseProof(writeProof(other))!
  const text = log.checkpoint.slice(0, log.checkpoint.indexOf('\n\n') + 1)
  const signed = await signNote(text, 'witness.example', seed)
  expect(await faultOf(writeProof({ ...log, checkpoint: signed }), [await publishedKey('witness.example', seed)])).toBe(
    'UNKNOWN_SIGNER',
  )
})

test('another checkpoint of the same size shows two versions of the books', async () => {
  const [first] = await makeProofs()
  const [second] = await makeProofs()
  const file = writeProof(first!)
  expect(await faultOf(file, [key], first!.checkpoint)).toBeNull()
  expect(await faultOf(file, [key], second!.checkpoint)).toBe('OTHER_BOOKS')
  const forged = second!.checkpoint.replace('— ', '— x')
  expect(await faultOf(file, [key], forged)).toBeNull()
})

const encoded = (fields: object) => Buffer.from(JSON.stringify(fields)).toString('base64')

test('what is no proof is called that', async () => {
  const file = writeProof((await makeProofs())[5]!)
  const extra = JSON.parse(Buffer.from(/extra (.*)/.exec(file)![1]!, 'base64').toString()) as Record<string, unknown>
  const withExtra = (change: Record<string, unknown>) =>
    file.replace(/extra .*/, `extra ${encoded({ ...extra, ...change })}`)
  expect(await faultOf(withExtra({}))).toBeNull()
  for (const wrong of [
    '',
    'x',
    file.slice(1),
    file.slice(0, 300),
    file.replace('index ', 'index 0'),
    file.replace('index ', 'index -'),
    file.replace(/extra .*/, 'extra !!!'),
    file.replace(/extra .*/, `extra ${Buffer.from([0xff]).toString('base64')}`),
    file + 'x'.repeat(70_000),
    ...[
      { version: 2 },
      { wallet: 'A'.repeat(64) },
      { sequence: 0 },
      { sequence: 1.5 },
      { walletSize: '7' },
      { amountMinor: 5 },
      { amountMinor: '05' },
      { amountMinor: '9'.repeat(30) },
      { atMicros: null },
      { currency: 'usd' },
      { texts: null },
      { texts: { ...(extra['texts'] as object), description: 5 } },
      { texts: { ...(extra['texts'] as object), referenceId: '\ud800' } },
      { salt: 'AAAA' },
      { walletPath: Array.from({ length: 65 }, () => 'A') },
      { walletPath: 'x' },
    ].map(withExtra),
  ])
    expect(await faultOf(wrong)).toBe('NOT_A_PROOF')
})

test('no two different texts have the same bytes', () => {
  const seen = new Map<string, EntryTexts>()
  for (const counterAccount of nasty)
    for (const referenceType of nasty)
      for (const referenceId of nasty)
        for (const description of [null, ...nasty]) {
          const texts = { counterAccount, referenceType, referenceId, description }
          const bytes = Buffer.from(textsBytes(texts)).toString('hex')
          expect(seen.has(bytes)).toBe(false)
          seen.set(bytes, texts)
        }
})
