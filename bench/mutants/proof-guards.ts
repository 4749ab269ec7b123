/** The guards of proofs: the trees, the leaves, sealing, and what compares the books with what was signed. */
import type { Guarded } from './run.ts'

const prove = 'test/proofs/prove.test.ts'
const rewritten = 'test/proofs/rewritten.test.ts'
const incarnation = 'test/proofs/incarnation.test.ts'
const verifier = 'sdk/verify.test.ts'

export const proofGuards: readonly Guarded[] = [
  {
    area: 'proofs',
    file: 'src/proof/merkle.ts',
    tests: ['src/proof/merkle.test.ts'],
    mutants: [
      [`pair[0] = 1`, `pair[0] = 0`],
      [`pair.set(right, 33)`, `pair.set(left, 33)`],
      [`leaf.set(data, 1)`, `leaf.set(data.subarray(1), 1)`],
      [`const to = isOdd(index) ? above.right : above.left`, `const to = above.left`],
      [`onSubtree({ level, index }, hash.slice())`, `onSubtree({ level, index }, hash)`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/proof/write-bytes.ts',
    tests: ['src/proof/write-bytes.test.ts'],
    mutants: [
      [`value - high * half, 8)`, `value - high * half, countDigits(value - high * half))`],
      [`value >= most;`, `value > most;`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/store/proofs/entry-leaves.ts',
    tests: [prove, rewritten],
    mutants: [
      [`coalesce(textsend(t.description), '\\\\xff'::bytea)`, `'\\\\xff'::bytea`],
      [`    hashSalt(salt, after + 1 + i, beginning(sent.texts, hashBytes))\n`, ``],
      [`t.sequence <= s.until`, `t.sequence < s.until`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/actions/proofs/seal-books.ts',
    tests: [prove],
    mutants: [
      [` && locked.nextPassAt > locked.now)`, ` && false)`],
      [`index, hash: hash.slice() })`, `index, hash })`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/actions/proofs/verify-log.ts',
    tests: [rewritten, incarnation],
    mutants: [
      [`return isSame(rootOf(peaks), root)`, `return true`],
      [`  yield* verifyIncarnations(db, signed.size)\n`, ``],
      [`first + i >= unmarked && isOtherMark(`, `first + i > unmarked && isOtherMark(`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/actions/proofs/check-log.ts',
    tests: [incarnation],
    mutants: [[`    for await (const fault of verifyIncarnations(tx, size)) faults.push(toFault(fault))\n`, ``]],
  },
  {
    area: 'proofs',
    file: 'src/store/proofs/proof-log.ts',
    tests: [incarnation],
    mutants: [[`kind in ('books', 'incarnation')`, `kind = 'books'`]],
  },
  {
    area: 'proofs',
    file: 'src/proof/marks.ts',
    tests: [rewritten],
    mutants: [[`markBytes)) !== 0`, `markBytes)) === 0`]],
  },
  {
    area: 'proofs',
    file: 'sdk/verify/note.ts',
    tests: [verifier],
    mutants: [[`if (!(await isSignedBy(key, note.text, signature))) return []`, ``]],
  },
  {
    area: 'proofs',
    file: 'sdk/verify/tree.ts',
    tests: [verifier, 'src/proof/merkle.test.ts'],
    mutants: [[`return last === 0 ? hash : null`, `return hash`]],
  },
]
