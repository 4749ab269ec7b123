/** The guards of the writer: batches, shares, and what it answers after a fault. */
import type { Guarded } from './run.ts'

const randomBatches = 'src/store/writer/random-batches.test.ts'
const writer = 'src/store/writer/writer.test.ts'
const order = 'src/store/writer/order.test.ts'
const holds = 'src/store/writer/holds.test.ts'
const blastRadius = 'src/store/writer/blast-radius.test.ts'

export const writerGuards: readonly Guarded[] = [
  {
    area: 'the writer',
    file: 'src/store/writer/hold-book.ts',
    tests: [holds, 'src/api/holds/server-holds.test.ts'],
    mutants: [
      [`if (!isExpiredAt(hold, at)) {`, `if (isExpiredAt(hold, at)) {`],
      [`(posting.by.clientId ?? hold.clientId) === hold.clientId`, `true`],
      [`if (open >= maxOpenHolds)`, `if (open > maxOpenHolds)`],
      [`if (ended) return refused(book, hold, ended)`, ``],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-holds.ts',
    tests: [holds, randomBatches],
    mutants: [
      [`, held = w.held + c.net_held`, ``],
      [`, open_holds = w.open_holds + c.holds`, ``],
      [`w.open_holds + c.holds <= \${maxOpenHolds}`, `w.open_holds <= \${maxOpenHolds}`],
      [`'c.count = 1 and c.net < 0'`, `'c.net < 0'`],
      [`c.count + c.holds = 1 and c.lowest < 0`, `c.count <= 1 and c.lowest < 0`],
      [`'m.held + o.held_offset as held'`, `'m.held'`],
      [`made_at + seconds * interval`, `made_at + interval`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/stored-holds.ts',
    tests: ['src/api/holds/server-holds.test.ts', 'test/hold-plans.test.ts'],
    mutants: [
      [`'not h.is_closed and h.ended_by is null'`, `'not h.is_closed'`],
      [`'not h.is_closed and h.ended_by is null'`, `'h.ended_by is null'`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-captures.ts',
    tests: ['src/store/writer/fast-captures.test.ts'],
    mutants: [
      [`open_holds = w.open_holds - c.closed, `, ``],
      [`\n    is_closed = m.captured + m.released = h.amount,`, ``],
      [`\n        and steps = change.steps`, ``],
      [` and expires_at > clock_timestamp()`, ``],
      [`    where reference_key not in (`, `    where reference_key is not null or reference_key not in (`],
      [`coalesce(w.frozen_for, 'operator') = 'operator' and `, ``],
      [` and w.balance + c.amount >= 0`, ``],
      [` and h.steps = m.steps`, ``],
      [` and h.expires_at > m.at`, ``],
      [`from operation o left join hold h`, `from operation o join hold h`],
      [`amountMinor < netHeldMinor ? [] : `, ``],
      [`return { ...posted.value, fault: captured.reason }`, `throw captured.reason`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-expiries.ts',
    tests: ['src/store/writer/fast-expiries.test.ts'],
    mutants: [
      [`, open_holds = w.open_holds - c.count`, ``],
      [` is_closed = true,`, ``],
      [` and w.frozen_for is null`, ``],
      [` and h.steps = d.steps`, ``],
      [` and h.expires_at <= m.at`, ``],
      [`left join hold h on`, `join hold h on`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/actions/money/sweep-holds.ts',
    tests: ['src/actions/money/sweep-holds.test.ts', 'test/events/holds.test.ts'],
    mutants: [
      [`(await tryLock(tx, locks.sweepHolds)) ? await work(tx) : undefined`, `await work(tx)`],
      [`first = 1 + apps.findLastIndex(({ clientId }) => ofDue.has(clientId))`, ``],
      [
        `const quiet = new Set(apps.flatMap(({ clientId, hasEvents }) => (hasEvents ? [] : [clientId])))`,
        `const quiet = new Set(apps.map(({ clientId }) => clientId))`,
      ],
      [`    return none\n  }\n}`, `    throw error\n  }\n}`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/careful-lane.ts',
    tests: ['src/store/writer/fast-captures.test.ts'],
    mutants: [
      [
        `'walletId' in by ? by.walletId : by.serviceUserId`,
        `'walletId' in by ? String(performance.now()) : by.serviceUserId`,
      ],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-statement.ts',
    tests: [randomBatches, writer],
    mutants: [
      [`w.balance - w.held + c.lowest >= 0`, `w.balance + c.net >= 0`],
      [`w.balance + c.highest <=`, `w.balance + c.net <=`],
      [`w.id = c.wallet_id and w.frozen_for is null`, `w.id = c.wallet_id`],
      [`' and n not in (select n from repeated)'`, `''`],
      ['where is_reachable$', 'where true$'],
      [`l.client_id = c.client_id and l.disconnected_at`, `l.disconnected_at`],
      [`BigInt(balance) + (refusal ? 0n : offsetMinor)`, `BigInt(balance) + offsetMinor`],
      [`BigInt(held) + (refusal ? 0n : heldOffsetMinor)`, `BigInt(held) + heldOffsetMinor`],
      [`if (isNewHold(posting)) continue`, ``],
      [`isNewHold(posting) ? null : ++entries`, `++entries`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-statement.ts',
    tests: [writer],
    mutants: [
      [` and l.disconnected_at is null as is_reachable`, ` as is_reachable`],
      [`} order by wallet_id) as c`, `}) as c`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-statement.ts',
    tests: ['src/store/writer/guess-new.test.ts'],
    mutants: [[`' where o.n not in (select n from moved)'`, `' where false'`]],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/lone-statement.ts',
    tests: ['src/store/writer/guess-new.test.ts', 'src/store/writer/random-batches.test.ts'],
    mutants: [
      [`w.balance - w.held + least(c.amount, 0) >= 0 and `, ``],
      [` and w.balance + greatest(c.amount, 0) <= \${maxBalanceMinor}`, ``],
      [` and w.frozen_for is null`, ``],
      [` and l.disconnected_at is null as is_reachable`, ` as is_reachable`],
      [`if (hold || 'walletId' in by) return false`, `if ('walletId' in by) return false`],
      [`links.size === batch.length`, `links.size > 0`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/guess-new.ts',
    tests: ['src/store/writer/guess-new.test.ts'],
    mutants: [
      [`guess.batchesSinceLeft = 0`, `void guess`],
      [`return { ...posted, fault }`, `throw fault`],
      [`...others.answers], hasWritten, hasRepeats }`, `...others.answers], hasRepeats }`],
      [`answers.hasRepeats ? 0 : guess`, `guess`],
      [`if (sqlState(error) !== uniqueViolation) throw error`, `void error`],
      [`batch.length >= fewestPostings && `, ``],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/careful-statement.ts',
    tests: [order, randomBatches, writer],
    mutants: [
      [`[link.walletId] : [])))].sort()`, `[link.walletId] : [])))]`],
      [`if (outcome) answers.push`, `if (outcome && wallet) answers.push`],
      [`wallets.set(link.walletId, step.wallet)`, ``],
      [`outcomes.set(posting.referenceKey, result.outcome)`, ``],
      [`if (result.kind !== 'outcome') continue`, ``],
      [`else if (!link?.isReachable) answers`, `else if (!link) answers`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/ledger-rows.ts',
    tests: [order, randomBatches, writer],
    mutants: [[`frozen_for = c.frozen_for,`, `frozen_for = w.frozen_for,`]],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/careful-statement.ts',
    tests: [writer],
    mutants: [[`isPatient ? '' : ' skip locked'`, `''`]],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/ledger-rows.ts',
    tests: [randomBatches],
    mutants: [
      [
        `sum(greatest(-amount, 0))::bigint, sum(greatest(amount, 0))::bigint`,
        `sum(greatest(-amount, 0))::bigint, sum(abs(amount))::bigint`,
      ],
      [`credited = p.credited + excluded.credited`, `credited = excluded.credited`],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/careful-lane.ts',
    tests: [order, blastRadius],
    mutants: [
      [`first.some((ahead) => isSameWallet(pending, ahead))`, `first.includes(pending)`],
      [`if (batch.length > 1 && !(`, `if (batch.length > 512 && !(`],
      [`for (const alone of batch) quarantine(lane, alone)`, ``],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/careful-lane.ts',
    tests: [writer],
    mutants: [[`isCollision(error) && collisions < maxCollisions`, `collisions > maxCollisions`]],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/posting.ts',
    tests: [order, writer],
    mutants: [
      [`if (!ahead.isAnswered) return ahead`, ``],
      [`if (first.result.kind === 'inactive' && !isRefusedToo) return false`, ``],
      [`!pending.isAnswered && pending.deadline <= now`, `!pending.isAnswered && pending.deadline + 600_000 <= now`],
      [`if (isSilent) queue.disconnect()`, ``],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-lane.ts',
    tests: [order, writer],
    mutants: [
      [`lane.references.set(pending.referenceKey, pending)`, ``],
      [`if (ahead.isInCarefulLane) {`, `if (ahead.isAnswered) {`],
      [`if (ahead) return followAhead(lane, batch, pending, ahead)`, ``],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-lane.ts',
    tests: [holds],
    mutants: [[`postCarefully(lane.holds, holds)`, `postCarefully(lane.careful, holds)`]],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/fast-lane.ts',
    tests: ['src/store/writer/fast-captures.test.ts'],
    mutants: [[`if (fault !== undefined) throw fault`, ``]],
  },
  {
    area: 'the writer',
    file: 'src/store/writer/writer.ts',
    tests: ['src/store/writer/fast-captures.test.ts'],
    mutants: [[`(hold?.kind === 'capture' && hasEvents) || `, ``]],
  },
  {
    area: 'the writer',
    file: 'src/store/migrations/0044_holds.sql',
    tests: [writer],
    mutants: [
      [
        `check (balance - held >= 0 or frozen_for is not null)`,
        `check (balance - held >= -1 or frozen_for is not null)`,
      ],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/migrations/0001_ledger.sql',
    tests: [writer],
    mutants: [
      [
        `wallets_balance_limit check (abs(balance) <= 999999999999999)`,
        `wallets_balance_limit check (abs(balance) <= 9999999999999999)`,
      ],
      [
        `create trigger outcomes_append_only before update or delete on outcomes`,
        `create trigger outcomes_append_only before delete on outcomes`,
      ],
    ],
  },
  {
    area: 'the writer',
    file: 'src/store/migrations/0024_balance_after.sql',
    tests: [writer],
    mutants: [[` or counter_account = 'cards')`, ` or counter_account <> 'bonus')`]],
  },
]
