/** The list of card top-ups, with filters and CSV export. */
import { recordAudit } from '../../actions/audit.ts'
import { isUuid } from '../../actions/tokens.ts'
import { formatMinor } from '../../ledger/money.ts'
import { listPeople } from '../../store/people/user-search.ts'
import {
  countMatchingTopups,
  findTopupPage,
  topupFilters,
  topupSpan,
  type FoundTopups,
  type Topup,
  type TopupFilter,
} from '../../store/topups.ts'
import { csvLine, csvPages, download, plain } from '../../web/csv.ts'
import { dayBadges, DayFields, isOldestFirst, keptOf, OrderAndApply, spanOf, timeHead } from '../kit/filters.tsx'
import { dayText, Empty, Field, Heading, ListHead, maxTotal, Pager } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { currencyOf } from '../kit/states.tsx'
import { TopupTable } from '../kit/topup-table.tsx'

export const topupsRoutes: AdminRoute[] = [get('/admin/topups', showTopups), get('/admin/topups.csv', exportTopups)]

const pageSize = 50

const states: readonly (readonly [string, string])[] = [
  ['', 'Any'],
  ['problem', 'with a problem'],
  ['disputed', 'with an open dispute'],
  ['declined', 'with a declined card'],
  ['refunded', 'refunded, fully or partly'],
  ...topupFilters.slice(4).map((state) => [state, state] as const),
]

function topupFilterOf(request: AdminRequest): TopupFilter {
  const user = request.query('user')
  return {
    userId: isUuid(user) ? user : undefined,
    clientId: request.query('app') || undefined,
    state: topupFilters.find((state) => state === request.query('state')),
    ...spanOf(request),
  }
}

async function showTopups(request: AdminRequest): Promise<Response> {
  const db = request.service.db.pool
  const filter = topupFilterOf(request)
  const page = { after: readCursor(request.query('after')), limit: pageSize, isOldestFirst: isOldestFirst(request) }
  const [found, total, apps] = await Promise.all([
    findTopupPage(db, filter, page),
    countMatchingTopups(db, filter, maxTotal + 1),
    request.service.apps.list(),
  ])
  const owners = new Map(
    (await listPeople(db, [...new Set(found.topups.map((topup) => topup.userId))])).map((person) => [
      person.id,
      person,
    ]),
  )
  const kept = keptOf(request, ['user', 'app', 'state'])
  const { text, hrefOf } = kept
  const appName = apps.find((app) => app.clientId === text('app'))?.name ?? text('app')
  const user = filter.userId ?? ''
  const body = (
    <>
      <Heading title="Card top-ups" sub={user ? 'One user' : 'Money added by card.'}>
        {user && (
          <a class="button quiet small" href={`/admin/wallets/${user}`}>
            The wallet
          </a>
        )}
      </Heading>
      <section class="card flush">
        <form class="row bottom" method="get" action="/admin/topups" data-auto>
          {user && <input type="hidden" name="user" value={user} />}
          <Field label="State" name="state" value={text('state')} options={states} />
          <Field
            label="App"
            name="app"
            value={text('app')}
            options={[['', 'Any'], ...apps.map((app) => [app.clientId, app.name] as const)]}
          />
          <DayFields {...kept} />
          <OrderAndApply {...kept} />
        </form>
        <ListHead
          total={total}
          what={total === 1 ? 'top-up' : 'top-ups'}
          filters={[['user', user], ['state', text('state')], ['app', appName], ...dayBadges(kept)]}
          clear="/admin/topups"
          csv={hrefOf('/admin/topups.csv')}
        />
        {found.topups.length === 0 ? (
          <Nothing filter={filter} isSpanEnd={found.isSpanEnd} />
        ) : (
          <TopupTable topups={found.topups} owners={owners} time={timeHead('Time', '/admin/topups', kept)} />
        )}
        <Pager
          first={request.query('after') === '' ? undefined : hrefOf('/admin/topups')}
          next={found.next && hrefOf('/admin/topups', { after: cursorText(found.next) })}
          label={found.isSpanEnd ? 'Search further' : 'Next'}
        />
      </section>
    </>
  )
  return await showPage(request, { title: 'Card top-ups', here: 'topups', body })
}

function cursorText({ createdAt, id }: { createdAt: Date; id: string }): string {
  return `${createdAt.toISOString()}_${id}`
}

function readCursor(text: string): { createdAt: Date; id: string } | undefined {
  const [at = '', id = ''] = text.split('_')
  const createdAt = new Date(at)
  return isUuid(id) && !Number.isNaN(createdAt.getTime()) ? { createdAt, id } : undefined
}

function Nothing({ filter, isSpanEnd }: { filter: TopupFilter; isSpanEnd: boolean }) {
  if (isSpanEnd)
    return (
      <Empty title="No matches here">
        <p>None of the {topupSpan.toLocaleString('en')} top-ups searched match the filter. Others may.</p>
      </Empty>
    )
  if (filter.state === 'problem')
    return (
      <Empty title="No problems">
        <p>Every card payment matches its order and is in its wallet.</p>
      </Empty>
    )
  return Object.values(filter).every((value) => value === undefined) ? (
    <Empty title="No top-ups yet">
      <p>They appear here when users add money in the widget.</p>
    </Empty>
  ) : (
    <Empty title={filter.userId ? 'No top-ups yet' : 'No matches'}>
      <p>No top-up matches the filter.</p>
    </Empty>
  )
}

const head = [
  'id',
  'createdAt',
  'state',
  'amount',
  'currency',
  'credited',
  'refunded',
  'disputed',
  'dispute',
  'declineCode',
  'problem',
  'paymentIntentId',
  'processor',
  'userId',
  'clientId',
]

function lineOf(topup: Topup): string {
  const money = (minor: bigint) => plain(formatMinor(minor, currencyOf(topup)))
  return csvLine([
    topup.id,
    topup.createdAt.toISOString(),
    topup.state,
    money(topup.amountMinor),
    topup.currency,
    money(topup.creditedMinor),
    money(topup.refundedMinor),
    money(topup.disputedMinor),
    topup.dispute,
    topup.declineCode,
    topup.problem,
    topup.paymentIntentId,
    topup.processor,
    topup.userId,
    topup.clientId,
  ])
}

type Page = FoundTopups & { readonly lines: readonly string[] }

async function exportTopups(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const filter = topupFilterOf(request)
  const page = { limit: 1_000, isOldestFirst: isOldestFirst(request) }
  await recordAudit(service.db.pool, actor, 'topups.exported', 'topups')
  const read = async (before: Page | undefined): Promise<Page | undefined> => {
    if (before && !before.next) return undefined
    const found = await findTopupPage(service.db.pool, filter, { ...page, after: before?.next })
    return { ...found, lines: found.topups.map(lineOf) }
  }
  return download(`topups-${dayText(service.now())}.csv`, csvPages(head, read))
}
