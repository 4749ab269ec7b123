/** The guards of closed periods: what a closing leaves, and what a batch knows of it. */
import type { Guarded } from './run.ts'

const references = 'src/store/closing/closed-references.test.ts'
const closing = 'src/store/closing/closing.test.ts'
const archive = 'src/store/closing/archive/archive.test.ts'
const archived = 'src/store/closing/archive/archived.test.ts'
const steps = 'src/store/closing/archive/archived-steps.test.ts'
const onCluster = 'src/store/cluster/cluster-archive.test.ts'
const readers = 'src/store/closing/archive/archived-readers.test.ts'

export const periodGuards: readonly Guarded[] = [
  {
    area: 'archived periods',
    file: 'src/store/writer/fast-statement.ts',
    tests: [archived],
    mutants: [["${hasArchive ? archivedSql : ''}", '']],
  },
  {
    area: 'archived periods',
    file: 'src/store/outcomes.ts',
    tests: [archived],
    mutants: [['text: `${inDatabase} union all ${archived}`', 'text: inDatabase']],
  },
  {
    area: 'archived periods',
    file: 'src/store/closing/archive/obstacles.ts',
    tests: [archived],
    mutants: [['return text(period)', 'continue']],
  },
  {
    area: 'archived periods',
    file: 'src/store/closing/archive/compare-archive.ts',
    tests: [archived],
    mutants: [
      ['!== line) refuse()', '=== undefined) refuse()'],
      ['if (!isDeepStrictEqual(', 'if (false && !isDeepStrictEqual('],
    ],
  },
  {
    area: 'archived periods',
    file: 'src/store/closing/archive/drop-period.ts',
    tests: [steps],
    mutants: [['lock table closings, ${', 'lock table ${']],
  },
  {
    area: 'archived periods',
    file: 'src/store/cluster/archived-references.ts',
    tests: [onCluster],
    mutants: [
      ['if (known && known.lastMark !== found.mark)', 'if (!known)'],
      [
        'known ? referenceKeys.filter(known.mayHave) : referenceKeys',
        'known ? referenceKeys.filter(known.mayHave) : []',
      ],
    ],
  },
  {
    area: 'archived periods',
    file: 'src/store/cluster/period-pages.ts',
    tests: [onCluster],
    mutants: [
      ['after = rows.at(-1)?.pageKey ?? after', 'after = first'],
      ['isFull = rows.length === rowsPerPage', 'isFull = false'],
    ],
  },
  {
    area: 'archived periods',
    file: 'src/store/copy/copied-archives.ts',
    tests: ['src/store/copy/archived-copy.test.ts'],
    mutants: [['isSpread(client) && !(await isDistributed(client))', 'isSpread(client) && client.isLost()']],
  },
  {
    area: 'archived periods',
    file: 'src/actions/money/archive-period.ts',
    tests: [archived],
    mutants: [
      ['if (sha256 !== archive.sha256)', 'if (sha256 === undefined)'],
      ['if (oldest !== period)', 'if (oldest === undefined)'],
      ['if (archives.at(-1) !== archive)', 'if (archives.length === 0)'],
    ],
  },
  {
    area: 'archived periods',
    file: 'src/actions/proofs/carry-trees.ts',
    tests: ['src/actions/proofs/carry-trees.test.ts'],
    mutants: [
      ['if (Buffer.compare(rootOf(whole), rootOf(sealed)) !== 0)', 'if (false)'],
      ['if (ordinal % 2 === 0) tree.carried', 'tree.carried'],
      [', currency, entriesPerPage))', ', currency))'],
    ],
  },
  {
    area: 'archived periods',
    file: 'src/store/verify/totals.ts',
    tests: [archived],
    mutants: [['if (found[name] !== carried[name])', 'if (found[name] === undefined)']],
  },
  {
    area: 'archived periods',
    file: 'src/store/proofs/wallet-trees.ts',
    tests: [archived],
    mutants: [['first < archived.size ? peaksWithin', 'first < 0 ? peaksWithin']],
  },
  {
    area: 'archived periods',
    file: 'src/actions/money/write-statement.ts',
    tests: [readers],
    mutants: [['if (hasArchived) return undefined', 'if (hasArchived && month.text === "") return undefined']],
  },
  {
    area: 'archived periods',
    file: 'src/store/transfers.ts',
    tests: [readers],
    mutants: [
      ['if (hasArchived && until && !(await hasBegun(', 'if (until && !until && !(await hasBegun('],
      ["where id = $1 and created_at < $2'", "where id = $1 and $2::timestamptz is null'"],
    ],
  },
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
    file: 'src/store/writer/lone-statement.ts',
    tests: [references],
    mutants: [[" and ${lastMarkSql} = '${lastMark}'", '']],
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
      [`...viewsSql([...periodsIn(closings, 'database'), id], periodsIn(closings, 'files'), client.isCluster()),`, ``],
      ['  await refuseDuringUpgrade(client)\n', ''],
      ["before + interval '1 minute'", "before + interval '10 minutes'"],
      [`if (rows.length === 0) throw new ClosingRefused`, `if (rows.length < 0) throw new ClosingRefused`],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/connection/server-info.ts',
    tests: [closing],
    mutants: [["(is_own or has_table_privilege(c.oid, 'insert'))", "has_table_privilege(c.oid, 'insert')"]],
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
    mutants: [[`findSql('all_outcomes where`, `findSql('outcomes where`]],
  },
  {
    area: 'closed periods',
    file: 'src/store/copy/copied-tables.ts',
    tests: [closing, 'src/store/copy/archived-copy.test.ts'],
    mutants: [
      [`return 'all_transfers where not is_archived'`, `return 'transfers'`],
      [`return 'all_outcomes'`, `return 'outcomes'`],
      [`'all_transfers where not is_archived'`, `'all_transfers'`],
      ['`${name} where ${column} in (${archived.join()})`', 'quoted(name)'],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/archive/write-archive.ts',
    tests: [archive],
    mutants: [
      ['if (!row.hasOutcome || (previous && !follows(row, previous)))', 'if (previous && !follows(row, previous))'],
      ['if (counts.entries !== closing.transfers || ', 'if ('],
      ['${entryColumns}, o.held::float8 as "heldMinor"', '${entryColumns}, null as "heldMinor"'],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/archive/check-archive.ts',
    tests: [archive],
    mutants: [
      [`if (wallet && wallet[0] >= id) onFault`, `if (wallet && wallet[0] === id) onFault`],
      [`balance < 0 && amountMinor < 0 && counterAccount !== 'cards'`, `balance < 0 && amountMinor > 0`],
    ],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/archive/read-archive-file.ts',
    tests: [archive],
    mutants: [[`if (checksum.digest('hex') !== sha256)`, `if (checksum.digest('hex') === '')`]],
  },
  {
    area: 'closed periods',
    file: 'src/store/closing/archive/archive-file.ts',
    tests: [archive],
    mutants: [['entry.referenceKey === usualKeyOf(entry) ? null : entry.referenceKey', 'null']],
  },
]
