/** Two proofs of one wallet: the same history, a rewritten one, and what two files alone cannot show. */
import { beforeAll, expect, test } from 'bun:test'
import { addLeaves, beginningParts, hashLeaf, hashPart, inclusionParts, noPeaks, rootOf } from '../src/proof/merkle.ts'
import { checkpointText, newKeySeed, publishedKey, signNote } from '../src/proof/sign-note.ts'
import { entryLeaf, hashTexts, headLeaf, type ProvenEntry } from './verify/leaves.ts'
import { writeProof, type EntryProof } from './verify/proof-file.ts'
import { compareHistories } from './verify/history.ts'
import { compareProofs } from './verify.ts'

const origin = 'wallet.example/books/1'
const seed = newKeySeed()
let key: string
beforeAll(async () => {
  key = await publishedKey(origin, seed)
})

const name = (digit: string) => digit.repeat(64)
const salt = new Uint8Array(32).fill(7)
const texts = { counterAccount: 'cards', referenceType: 'TOPUP', referenceId: '1', description: null }

function entryOf(wallet: string, sequence: number, amountMinor: bigint): ProvenEntry {
  return { wallet, sequence, amountMinor, currency: 'USD', atMicros: 1_790_000_000_000_000n + BigInt(sequence) }
}

type Wallet = { readonly entries: readonly ProvenEntry[]; readonly prove: (at: Asked) => Promise<EntryProof> }
type Asked = { readonly size: number; readonly sequence: number; readonly since?: number; readonly log?: string }

function grow(leaves: readonly Uint8Array[]) {
  const subtrees = new Map<string, Uint8Array>()
  const peaks = addLeaves(noPeaks, leaves, ({ level, index }, hash) => subtrees.set(`${level}/${index}`, hash))
  const hashesOf = (parts: ReturnType<typeof inclusionParts>) =>
    parts.map((part) => hashPart(part, ({ level, index }) => subtrees.get(`${level}/${index}`)!))
  return { root: rootOf(peaks), hashesOf }
}

/** A wallet with `count` entries, of which `changed` has another amount. */
async function newWallet(count: number, changed = 0, wallet = name('a')): Promise<Wallet> {
  const entries = Array.from({ length: count }, (_, i) => entryOf(wallet, i + 1, i + 1 === changed ? 999n : 100n))
  const leaves = await Promise.all(
    entries.map(async (entry) => hashLeaf(entryLeaf(entry, await hashTexts(texts, salt)))),
  )
  const { hashesOf } = grow(leaves)
  const prove = async ({ size, sequence, since, log = origin }: Asked): Promise<EntryProof> => {
    const root = rootOf(addLeaves(noPeaks, leaves.slice(0, size)))
    // A log with as many leaves as the wallet has entries: the head, and those of others.
    const others = Array.from({ length: size - 1 }, () => salt)
    const heads = grow([hashLeaf(headLeaf({ wallet, size, root })), ...others])
    return {
      entry: entries[sequence - 1]!,
      words: { texts, salt },
      walletSize: size,
      walletPath: hashesOf(inclusionParts(sequence - 1, size)),
      since: since === undefined ? null : { size: since, path: hashesOf(beginningParts(since, size)) },
      index: 0,
      path: heads.hashesOf(inclusionParts(0, size)),
      checkpoint: await signNote(checkpointText({ origin: log, size, root: heads.root, signedAt: null }), log, seed),
    }
  }
  return { entries, prove }
}

const most = 20

test('with the path from the earlier size, every pair of sizes and entries shows the same history', async () => {
  const { prove } = await newWallet(most)
  for (let later = 2; later <= most; later++)
    for (let size = 1; size < later; size++) {
      const [one, other] = [
        await prove({ size, sequence: 1 + ((later * 7) % size) }),
        await prove({ size: later, sequence: 1 + ((size * 5) % later), since: size }),
      ]
      expect([size, later, await compareHistories(one, other)]).toEqual([size, later, 'kept'])
    }
})

test('with that path, any changed entry is seen, whichever entries the two proofs are of', async () => {
  const honest = await newWallet(most)
  for (let changed = 1; changed <= most; changed++) {
    const forged = await newWallet(most, changed)
    for (let size = 1; size < most; size++) {
      const one = await honest.prove({ size, sequence: 1 + ((changed * 3) % size) })
      const other = await forged.prove({ size: most, sequence: 1 + ((size * 5) % most), since: size })
      const expected = changed <= size ? 'rewritten' : 'kept'
      expect([changed, size, await compareHistories(one, other)]).toEqual([changed, size, expected])
    }
  }
})

test('without that path, no pair says that a rewritten history is the same, and none accuses an honest one', async () => {
  const honest = await newWallet(most)
  const verdicts = new Set<string>()
  for (let changed = 0; changed <= most; changed++) {
    const later = changed === 0 ? honest : await newWallet(most, changed)
    for (let size = 1; size <= most; size++) {
      const one = await honest.prove({ size, sequence: 1 + ((changed * 3) % size) })
      const other = await later.prove({ size: most, sequence: 1 + ((size * 5) % most) })
      const verdict = await compareHistories(one, other)
      const isChanged = changed > 0 && changed <= size
      expect([changed, size, verdict]).not.toEqual([changed, size, isChanged ? 'kept' : 'rewritten'])
      verdicts.add(`${isChanged} ${verdict}`)
    }
  }
  expect([...verdicts].sort()).toEqual(['false kept', 'false no-link', 'true no-link', 'true rewritten'])
})

test('a damaged path is no evidence of a rewrite', async () => {
  const { prove } = await newWallet(13)
  const one = await prove({ size: 6, sequence: 2 })
  const other = await prove({ size: 13, sequence: 12, since: 6 })
  for (const i of other.since!.path.keys()) {
    const path = other.since!.path.map((hash, at) => (at === i ? hash.map((byte) => byte ^ 1) : hash))
    expect(await compareHistories(one, { ...other, since: { size: 6, path } })).toBe('no-link')
  }
  for (const path of [[], other.since!.path.slice(1), [...other.since!.path, salt]])
    expect(await compareHistories(one, { ...other, since: { size: 6, path } })).toBe('no-link')
  // A path from another size than that of the earlier proof says nothing about it.
  expect(await compareHistories(one, { ...other, since: { ...other.since!, size: 7 } })).toBe('no-link')
})

test('files are verified before they are compared', async () => {
  const [ann, bob] = [await newWallet(9), await newWallet(9, 0, name('b'))]
  const earlier = writeProof(await ann.prove({ size: 4, sequence: 1 }))
  const later = writeProof(await ann.prove({ size: 9, sequence: 9, since: 4 }))
  const options = { keys: [key] }
  for (const files of [
    [earlier, later],
    [later, earlier],
  ] as const)
    expect(await compareProofs(files, options)).toMatchObject({
      kind: 'kept',
      earlier: { walletSize: 4 },
      later: { walletSize: 9 },
    })
  const strange = writeProof(await bob.prove({ size: 9, sequence: 9 }))
  expect(await compareProofs([later, strange], options)).toMatchObject({ kind: 'other-wallet' })
  expect(await compareProofs([later, ''], options)).toMatchObject({ kind: 'refused', fault: 'NOT_A_PROOF' })
  expect(await compareProofs([earlier, later], { keys: [] })).toMatchObject({ fault: 'UNKNOWN_SIGNER' })
  const forged = await (await newWallet(9, 2)).prove({ size: 9, sequence: 9, since: 4 })
  expect(await compareProofs([earlier, writeProof(forged)], options)).toMatchObject({ kind: 'rewritten' })
  const second = 'wallet.example/books/2'
  const restored = writeProof(await ann.prove({ size: 9, sequence: 9, since: 4, log: second }))
  const keys = [key, await publishedKey(second, seed)]
  expect(await compareProofs([earlier, restored], { keys })).toMatchObject({ kind: 'kept' })
})

test('an earlier state of the wrong shape makes the file no proof', async () => {
  const { prove } = await newWallet(3)
  const file = writeProof(await prove({ size: 3, sequence: 3, since: 2 }))
  const withSince = (since: unknown) =>
    file.replace(/(?<=^extra ).*/m, (encoded) => {
      const fields = { ...JSON.parse(Buffer.from(encoded, 'base64').toString()), since }
      return Buffer.from(JSON.stringify(fields)).toString('base64')
    })
  const good = { size: 2, path: [Buffer.from(salt).toString('base64')] }
  expect(await compareProofs([file, withSince(good)], { keys: [key] })).not.toMatchObject({ kind: 'refused' })
  for (const wrong of [
    null,
    'x',
    [],
    2,
    {},
    { ...good, size: 0 },
    { ...good, size: '2' },
    { ...good, path: 'x' },
    { ...good, path: ['AAAA'] },
  ])
    expect(await compareProofs([file, withSince(wrong)], { keys: [key] })).toMatchObject({ fault: 'NOT_A_PROOF' })
})
