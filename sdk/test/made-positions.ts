/** Positions of a day in a signed log in memory, for tests of proofs. */
import { createHash, randomBytes } from 'node:crypto'
import { hashDayLines, lineSalt, positionOf, type AccountLine } from '../../src/proof/day-tree.ts'
import { addLeaves, hashPart, inclusionParts, noPeaks, rootOf } from '../../src/proof/merkle.ts'
import { checkpointText, signNote, type KeySeed } from '../../src/proof/sign-note.ts'
import { entryLeaf, hashTexts, headLeaf } from '../verify/leaves.ts'
import { booksLeaf } from '../verify/position.ts'
import type { EntryProof, PositionProof } from '../verify/proof-file.ts'
import { entriesOf, grow, nasty } from './made-proofs.ts'

const linesOf = (count: number): readonly AccountLine[] =>
  Array.from({ length: count }, (_, i) => ({
    account: `app:${nasty[i % nasty.length]}${i}`,
    debited: i === 0 ? '12345678901234567890123' : String(i * 100),
    credited: String(i * 150),
    transfers: String(i),
  }))

function pathOf(hashes: readonly Uint8Array[], index: number): readonly Uint8Array[] {
  return inclusionParts(index, hashes.length).map((part) =>
    hashPart(part, ({ level, index: at }) =>
      rootOf(addLeaves(noPeaks, hashes.slice(at * 2 ** level, (at + 1) * 2 ** level))),
    ),
  )
}

type Signing = {
  readonly origin: string
  readonly seed: KeySeed
  readonly day: string
  readonly signedAt: Date | null
}

/** The proof of every account of a day, in a log with an entry of a wallet before it and a record behind. */
export async function makePositions(
  count: number,
  { origin, seed, day, signedAt }: Signing,
): Promise<{ proofs: PositionProof[]; entry: EntryProof }> {
  const salt = new Uint8Array(randomBytes(32))
  const lines = linesOf(count)
  const hashes = hashDayLines({ salt, walletsMinor: -7n, lines }, 'USD')
  const wallet = createHash('sha256').update('w').digest('hex')
  const [made] = entriesOf(wallet, 1)
  const { entry, texts } = made!
  const tree = grow([entryLeaf(entry, await hashTexts(texts, made!.salt))])
  const books = booksLeaf({ day, lines: hashes.length, root: rootOf(addLeaves(noPeaks, hashes)) })
  const log = grow([headLeaf({ wallet, size: 1, root: tree.root }), books, new Uint8Array(3)])
  const checkpoint = await signNote(checkpointText({ origin, size: log.size, root: log.root, signedAt }), origin, seed)
  const proofs = lines.map((line, i) => ({
    position: { day, ...positionOf(line, 'USD') },
    salt: lineSalt(line.account, salt),
    line: i + 1,
    lines: hashes.length,
    linePath: pathOf(hashes, i + 1),
    index: 1,
    path: log.pathOf(1),
    checkpoint,
  }))
  const walletPart = { words: { texts, salt: made!.salt }, walletSize: 1, walletPath: [], since: null }
  return { proofs, entry: { entry, ...walletPart, index: 0, path: log.pathOf(0), checkpoint } }
}
