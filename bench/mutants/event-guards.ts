/** The guards of events: what is recorded, how it is numbered, and how far an endpoint has come. */
import type { Guarded } from './run.ts'

const numbering = 'src/store/events/number-events.test.ts'
const property = 'test/events/property.test.ts'
const feed = 'test/events/feed.test.ts'
const endpoints = 'src/actions/webhooks/run-endpoint.test.ts'
const crash = 'test/events/deliverer-crash.test.ts'
const deliverer = 'src/actions/webhooks/deliverer.test.ts'
const area = 'events'

export const eventGuards: readonly Guarded[] = [
  {
    area,
    file: 'src/store/events/number-events.ts',
    tests: [property],
    mutants: [
      // One cursor over all writers.
      [
        `j.serial > coalesce(c.numbered_up_to, 0)`,
        `j.serial > (select coalesce(max(numbered_up_to), 0) from event_cursors)`,
      ],
      // Facts by a cursor.
      [
        `where awaits_number and writer = 0 order by serial`,
        `where awaits_number and writer = 0 and serial > coalesce((select max(numbered_up_to) from event_cursors), 0) order by serial`,
      ],
      // Numbered by writer, not by serial.
      [`partition by client_id order by serial desc`, `partition by client_id order by writer desc, serial desc`],
      [`set last = h.last + excluded.last`, `set last = excluded.last`],
      [
        `update journal j set awaits_number = false from examined s where s.writer = 0`,
        `update journal j set awaits_number = false from examined s where s.writer = 1`,
      ],
    ],
  },
  {
    area,
    file: 'src/store/events/number-events.ts',
    tests: [numbering],
    mutants: [
      [`select * from unnumbered order by serial limit`, `select * from unnumbered order by writer, serial limit`],
      [`pg_try_advisory_xact_lock($1) as is`, `$1::bigint > 0 as is`],
      [`union all select client_id from next where not is_sound`, ``],
      [`select client_id from stalled_app\n  union all`, ``],
      [`u.stalled_serial <= w.stalled_serial and u.serial is not null`, `u.stalled_serial < 0`],
      [`where s.client_id = r.client_id and`, `where false and s.client_id = r.client_id and`],
      [
        `and not exists (select from stalled_journal s where s.client_id = j.client_id and s.serial = j.serial and s.writer = j.writer)`,
        ``,
      ],
    ],
  },
  {
    area,
    file: 'src/store/events/journal.ts',
    tests: ['test/events/holds.test.ts'],
    mutants: [
      [`array_agg(case when is_hold then reference_key end order`, `array_agg(null::uuid order`],
      [`hasHolds ? maxWithHolds : maxEntriesPerRow`, `maxEntriesPerRow`],
    ],
  },
  {
    area,
    file: 'src/store/events/journal.ts',
    tests: [numbering, feed],
    mutants: [
      [`'{}', $1::integer = 0`, `'{}', false`],
      ['where (${clients}::text[])[part] is not null', ``],
      [`where e.counter_account not like 'app:%' or e.counter_account = 'app:' || l.client_id`, ``],
      [`e.wallet_id and l.disconnected_at is null and`, `e.wallet_id and`],
    ],
  },
  {
    area,
    file: 'src/store/events/endpoints.ts',
    tests: [endpoints],
    mutants: [
      [`where id = $1 and lease = $2 returning`, `where id = $1 and $2::uuid is not null returning`],
      ['and e.considered_up_to < e.delivered_up_to + ${triedEarly}', ``],
    ],
  },
  {
    area,
    file: 'src/actions/webhooks/deliverer.ts',
    tests: [deliverer],
    mutants: [
      [`Math.min(1, maxUnproven - unproven)`, `maxUnproven - unproven`],
      [`else if (hasMoreUnproven) due`, `else due`],
      [`running.hasNews = true`, `running.hasNews = false`],
    ],
  },
  {
    area,
    file: 'src/work/deliver-event.ts',
    tests: ['test/events/replay.test.ts'],
    mutants: [
      [`filter((id) => countOf(id) >= maxPerEndpoint)`, `filter(() => false)`],
      [`.concat(...waiting.keys())`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/webhooks/run-endpoint.ts',
    tests: [endpoints, crash, deliverer],
    mutants: [
      [`lowest === undefined ? run.readUpTo : lowest - 1`, `run.readUpTo`],
      [`if (user !== undefined && !isPassed) busy.add(user)`, ``],
      [`run.failed.has(number) && run.endpoint.probes > 0`, `false`],
      [`pageSize: isProven(endpoint) ? maxPageSize : 1`, `pageSize: maxPageSize`],
      [`isWorking ? work() : oneAtATime(work)`, `work()`],
      [`askedMs > 0 ? Number.MAX_SAFE_INTEGER : run.readUpTo`, `run.readUpTo`],
    ],
  },
  {
    area,
    file: 'src/admin/client-app/endpoint-parts.tsx',
    tests: ['src/admin/client-app/client-app-endpoints.test.ts'],
    mutants: [[`may(request, 'apps') ? endpoint : maskEndpoint(endpoint)`, `endpoint`]],
  },
  {
    area,
    file: 'src/actions/webhooks/describe-endpoint.ts',
    tests: ['src/actions/webhooks/describe-endpoint.test.ts'],
    mutants: [
      [`word === first && rest.length === 0 && search === ''`, `word === first`],
      ['/^[a-z][a-z_-]{0,19}$/i', '/./'],
      [`answer.length === 0 ? error : `, `answer.length >= 0 ? error : `],
    ],
  },
  {
    area,
    file: 'src/store/copy/import.ts',
    tests: ['test/events/import.test.ts'],
    mutants: [[`  await continueSerials(db)\n`, ``]],
  },
]
