/** Two proofs of one wallet from different days show whether its history was rewritten. */
import { beforeAll, expect, test } from 'bun:test'
import { checkpointText, newKeySeed, publishedKey, signNote } from '../src/proof/sign-note.ts'
import { entriesOf, grow } from './test/made-proofs.ts'
import { entryLeaf, hashTexts, headLeaf } from './verify/leaves.ts'
import { writeProof, type EntryProof } from './verify/proof-file.ts'
import { compareProofs } from './verify.ts'

const origin = 'wallet.example/books/1'
const seed = newKeySeed()
const wallet = 'ab'.repeat(32)
const sealed = entriesOf(wallet, 40)
let key: string

beforeAll(async () => {
  key = await publishedKey(origin, seed)
})

type Made = {
  readonly size: number
  readonly sequence: number
  readonly since?: number
  readonly isRewritten?: boolean
}

/** A proof of one entry when the wallet had `size` of them; rewritten: its second entry is another one. */
async function prove({ size, sequence, since, isRewritten = false }: Made): Promise<EntryProof> {
  const entries = sealed.slice(0, size).map((each) => ({
    ...each,
    entry: isRewritten && each.entry.sequence === 2 ? { ...each.entry, amountMinor: 99n } : each.entry,
  }))
  const hashed = entries.map(async ({ entry, texts, salt }) => entryLeaf(entry, await hashTexts(texts, salt)))
  const tree = grow(await Promise.all(hashed))
  const others = Array.from({ length: size }, (_, i) => new TextEncoder().encode(`other ${i}`))
  const log = grow([...others, headLeaf({ wallet, size, root: tree.root })])
  const { entry, texts, salt } = entries[sequence - 1]!
  return {
    entry,
    words: { texts, salt },
    walletSize: size,
    walletPath: tree.pathOf(sequence - 1),
    since: since === undefined ? null : tree.sinceOf(since),
    index: size,
    path: log.pathOf(size),
    checkpoint: await signNote(
      checkpointText({ origin, size: log.size, root: log.root, signedAt: null }),
      origin,
      seed,
    ),
  }
}

const compare = async (a: EntryProof, b: EntryProof) =>
  await compareProofs([writeProof(a), writeProof(b)], { keys: [key] })

test('of every two sizes the later proof shows that it continues the earlier one, in either order of the files', async () => {
  for (let later = 1; later <= 40; later += 3)
    for (let earlier = 1; earlier <= later; earlier++) {
      const files = [
        await prove({ size: earlier, sequence: 1 }),
        await prove({ size: later, sequence: later, since: earlier }),
      ] as const
      expect((await compare(...files)).kind).toBe('kept')
      expect((await compare(files[1], files[0])).kind).toBe('kept')
    }
})

test('a changed entry between two proofs is called a rewritten history', async () => {
  for (let earlier = 2; earlier <= 39; earlier++) {
    const files = [
      await prove({ size: earlier, sequence: 1 }),
      await prove({ size: 40, sequence: 40, since: earlier, isRewritten: true }),
    ] as const
    expect((await compare(...files)).kind).toBe('rewritten')
  }
})

test('two proofs of one entry that differ contradict each other without a path between them', async () => {
  const before = await prove({ size: 5, sequence: 2 })
  expect((await compare(before, await prove({ size: 40, sequence: 2, isRewritten: true }))).kind).toBe('rewritten')
  // Of the same size, another root says it for every entry.
  expect((await compare(before, await prove({ size: 5, sequence: 4, isRewritten: true }))).kind).toBe('rewritten')
})

test('two signed states of one size contradict each other', async () => {
  const [a, b] = [await prove({ size: 5, sequence: 3 }), await prove({ size: 5, sequence: 3, isRewritten: true })]
  expect((await compare(a, b)).kind).toBe('rewritten')
})

test('an erased text changes nothing', async () => {
  const before = await prove({ size: 5, sequence: 3 })
  const textsHash = await hashTexts(sealed[2]!.texts, sealed[2]!.salt)
  const erased: EntryProof = { ...(await prove({ size: 9, sequence: 3, since: 5 })), words: { texts: null, textsHash } }
  expect((await compare(before, erased)).kind).toBe('kept')
})

test('without the path, with one from another size, of another wallet or unsigned, nothing is claimed', async () => {
  const before = await prove({ size: 5, sequence: 3 })
  expect(await compare(before, await prove({ size: 9, sequence: 4 }))).toMatchObject({ kind: 'no-link', since: 5 })
  expect(await compare(before, await prove({ size: 9, sequence: 4, since: 6 }))).toMatchObject({ kind: 'no-link' })
  const damaged = { ...before, entry: { ...before.entry, amountMinor: 1n } }
  expect(await compare(damaged, before)).toMatchObject({ kind: 'refused', fault: 'NOT_IN_THE_BOOKS' })
  expect(await compareProofs([writeProof(before), 'x'], { keys: [key] })).toMatchObject({ fault: 'NOT_A_PROOF' })
  expect(await compareProofs([writeProof(before), writeProof(before)], { keys: [] })).toMatchObject({
    fault: 'UNKNOWN_SIGNER',
  })
})
