/** The guards of proofs: the trees, the leaves, sealing, what compares the books with what was signed, and the check before sealing. */
import type { Guarded } from './run.ts'

const leaves = 'src/store/proofs/entry-leaves.test.ts'
const prove = 'test/proofs/prove.test.ts'
const rewritten = 'test/proofs/rewritten.test.ts'
const together = 'test/proofs/wallets-together.test.ts'
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
    file: 'src/store/proofs/entry-columns.ts',
    tests: [leaves],
    mutants: [
      [`coalesce(description, $5::text)`, `coalesce(description, '')`],
      [`t.sequence <= s.until`, `t.sequence < s.until`],
      [`isOdd ? { separator: randomUUID(), absent: randomUUID() } : usualSigns`, `usualSigns`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/store/proofs/entry-leaves.ts',
    tests: [leaves],
    mutants: [
      [`    hashSalt(sequence, ownSalt)\n`, ``],
      [`  if (scratch !== usualTexts) bytes.set(ownSalt)\n`, ``],
      [`      await nextTurn()\n`, ``],
      [`    if (!isMarked && !isAlone) return undefined\n`, ``],
      [`  if (!isAlone && cursor.marks > 0) return undefined\n`, ``],
      [`isRead && cursor.absentCount === columns.absentCount`, `isRead`],
      [`(isRead && cursor.absentCount === columns.absentCount)`, `true`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/actions/proofs/seal-books.ts',
    tests: [prove, 'src/actions/proofs/seal-books.test.ts'],
    mutants: [
      [` && locked.nextPassAt > locked.now)`, ` && false)`],
      [`index, hash: hash.slice() })`, `index, hash })`],
      [`left === 0 || grown.length === limits.grown`, `left === 0`],
      [`left === 0 || grown.length === limits.grown`, `grown.length === limits.grown`],
      [`until < checkedUpTo && sealed.has(walletId)`, `false`],
      [`    await betweenPages()\n`, ``],
      [`betweenSignaturesMs - earlierMs`, `betweenSignaturesMs`],
      [`Math.max(tookMs, shortestMs), longestMs)`, `Infinity, Math.max(tookMs, shortestMs))`],
      [`Math.max(tookMs, shortestMs), longestMs)`, `tookMs, longestMs)`],
    ],
  },
  {
    area: 'proofs',
    file: 'src/actions/proofs/verify-log.ts',
    tests: [rewritten, incarnation, together],
    mutants: [
      [`return isSame(rootOf(peaks), root)`, `return true`],
      [`  yield* verifyIncarnations(db, signed.size)\n`, ``],
      [`if (!leaves.every(isIncarnation)) yield`, `if (!leaves.some(isIncarnation)) yield`],
      [`  if (!start) return false\n`, `  if (!start) return true\n`],
      [`return isSame(hashLeaf(incarnationLeaf({ ...start, last })), hash)`, `return true`],
      [`incarnationLeaf({ ...start, last })`, `incarnationLeaf({ ...start, last: null })`],
      [`if (leaves.length < incarnationsPerPage) return`, `return`],
      [`first + i >= unmarked && isOtherMark(`, `first + i > unmarked && isOtherMark(`],
      [`    if (!isState(name, peaks, hash)) return false\n`, ``],
      [`return states.length <= statesAtOnce && `, `return `],
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
  {
    area: 'checked wallets',
    file: 'src/store/verify/right-stretches.ts',
    tests: ['src/store/verify/right-stretches.test.ts'],
    mutants: [
      ['is_checked then ${followsSql} and ${isLinkedSql}', 'is_checked then ${followsSql}'],
      ['is_checked then ${followsSql} and ${isLinkedSql}', 'is_checked then ${isLinkedSql}'],
      ['or (${hasOutcomeSql}) is true)', 'or true)'],
      ['then e.balance_after = e.checkpoint_balance', 'then true'],
      [' end and ${isWithinSql}`', ' end`'],
      ['and e.balance_after = e.last_balance', ''],
      ['coalesce(bool_and(e.is_right and', 'coalesce(bool_or(e.is_right and'],
      ['= (select count(*) from stretch where last_sequence > 0)', '>= 0'],
      ['coalesce(bool_and(is_right), true)', 'true'],
      ['w on s.until >= w.sequence', 'w on true'],
      ['and t.sequence <= s.until', ''],
      ['(partition by stretch)', '()'],
      ['return one(rows).areRight', 'return true'],
      ['(${followsSql} and ${hasOutcomeSql} and ${isLinkedSql})', '(${followsSql} and ${hasOutcomeSql})'],
      ['(${followsSql} and ${hasOutcomeSql} and ${isLinkedSql})', '(${followsSql} and ${isLinkedSql})'],
      ['(${followsSql} and ${hasOutcomeSql} and ${isLinkedSql})', '(${hasOutcomeSql} and ${isLinkedSql})'],
      ['return rows.length === 0', 'return true'],
    ],
  },
  {
    area: 'checked wallets',
    file: 'src/store/verify/verified-wallets.ts',
    tests: ['src/store/verify/right-stretches.test.ts'],
    mutants: [
      [
        'w.sequence as last_sequence, w.balance as last_balance, w.is_right',
        'w.sequence as last_sequence, w.balance as last_balance, true as is_right',
      ],
      ['select * from changed where entries <= $3::float8', 'select * from changed'],
      ['select * from changed where entries <= $3::float8', 'select * from changed where entries < $3::float8'],
      ['case when v.sequence <= w.sequence then v.sequence else 0 end', '0'],
      ['until: next ?? boundary', 'until: boundary'],
      ['if (rowCount === wallets) return', 'if (rowCount !== 0) return'],
      ['set sequence = n.sequence, balance = n.balance', 'set sequence = n.sequence'],
    ],
  },
  {
    area: 'checked wallets',
    file: 'src/actions/money/check-changes.ts',
    tests: ['src/actions/money/check-books.test.ts'],
    mutants: [
      ['if (!page.areRight || page.isCut)', 'if (page.isCut)'],
      ['&& !state.problems.some(isOfPass)', ''],
    ],
  },
]
