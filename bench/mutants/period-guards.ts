/** The guards of closed periods: what a closing leaves, and what a batch knows of it. */
import type { Guarded } from './run.ts'

const references = 'src/store/closing/closed-references.test.ts'
const closing = 'src/store/closing/closing.test.ts'
const archive = 'src/store/closing/archive/archive.test.ts'

export const periodGuards: readonly Guarded[] = [
  {
    area: 'closed periods',
    file: 'src/store/writer/fast-statement.ts',
    tests: [references],
    mutants: [
      [`isExpectedNew ? isCurrent :`, `isExpectedNew ? '' :`],
      [`join all_outcomes k on`, `join outcomes k on`],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/writer/guess-new.ts',
    tests: [references],
    mutants: [[`known && !batch.some(({ referenceKey }) => known.mayHave(referenceKey))`, `known`]],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/closed-references.ts',
    tests: [references],
    mutants: [
      [`if (known?.lastMark !== lastMark) known = undefined`, `void lastMark`],
      [`if (outcomes === null || isClosed()) return undefined`, `if (outcomes === null) continue`],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/filter.ts',
    tests: ['src/store/closing/filter.test.ts'],
    mutants: [
      [`Math.imul(last, salts[word]!) >>> 27`, `last >>> 27`],
      [`(1 << bitOf(last, i))) === 0) return false`, `(1 << bitOf(last, i))) === 0) return true`],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/close-ledger.ts',
    tests: [closing],
    mutants: [
      [`    ...triggers,\n`, ``],
      ['`revoke insert, update, delete, truncate on ${closed} from ${owner}`,', ``],
      ['...tables.map((name) => viewSql(name, id)),', ``],
      ['  await refuseDuringUpgrade(client)\n', ''],
      [`if (rows.length === 0) throw new ClosingRefused`, `if (rows.length < 0) throw new ClosingRefused`],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/writer/fast-captures.ts',
    tests: [closing],
    mutants: [[`join all_outcomes o`, `join outcomes o`]],
  },
  {
    area: 'closed periods',
    file: 'src/store/outcomes.ts',
    tests: [closing],
    mutants: [
      [
        '  from all_outcomes where reference_key = any($1::uuid[])`\n',
        '  from outcomes where reference_key = any($1::uuid[])`\n',
      ],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/copy/copy-file.ts',
    tests: [closing],
    mutants: [["name === 'transfers' || name === 'outcomes' ? `all_${name}` : name", 'name']],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/archive/write-archive.ts',
    tests: [archive],
    mutants: [
      ['if (!row.hasOutcome || (previous && !follows(row, previous)))', 'if (previous && !follows(row, previous))'],
      ['if (counts.entries !== closing.transfers || ', 'if ('],
      ['o.held::float8 as "heldMinor"', 'null as "heldMinor"'],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/archive/check-archive.ts',
    tests: [archive],
    mutants: [
      [`if (checksum.digest('hex') !== sha256) onFault`, `if (checksum.digest('hex') === '') onFault`],
      [`if (wallet && wallet[0] >= id) onFault`, `if (wallet && wallet[0] === id) onFault`],
      [`balance < 0 && amountMinor < 0 && counterAccount !== 'cards'`, `balance < 0 && amountMinor > 0`],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/archive/archive-file.ts',
    tests: [archive],
    mutants: [['entry.referenceKey === usualKeyOf(entry) ? null : entry.referenceKey', 'null']],
  },
]
