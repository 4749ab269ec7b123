/** The list of holds: the open ones of all wallets, or all of one user, and their CSV export. */
import { recordAudit } from '../../actions/audit.ts'
import { isUuid } from '../../actions/tokens.ts'
import { remainingOf, viewHold } from '../../ledger/hold.ts'
import { formatMinor, type Currency } from '../../ledger/money.ts'
import {
  listEndedHolds,
  listHoldsByKey,
  listUnclosedHolds,
  listOpenHoldsByEnd,
  type HoldPoint,
} from '../../store/books/hold-lists.ts'
import { holdIdOf } from '../../store/outcomes.ts'
import { listPeople } from '../../store/people/user-search.ts'
import type { SeenHold } from '../../store/writer/stored-holds.ts'
import { csvLine, csvPages, download, plain } from '../../web/csv.ts'
import { HoldTable } from '../kit/hold-table.tsx'
import { dayText, Empty, Field, Heading, ListHead, Pager, withQuery } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import { get, may, type AdminRequest, type AdminRoute } from '../kit/route.ts'

export const holdsRoutes: AdminRoute[] = [get('/admin/holds', showHolds), get('/admin/holds.csv', exportHolds)]

const pageSize = 50
const maxOpenOfUser = 200

const states: readonly (readonly [string, string])[] = [
  ['', 'open'],
  ['late', 'expired and not closed'],
]

type Asked = { readonly userId: string | undefined; readonly clientId: string | undefined; readonly isLate: boolean }

function askedOf(request: AdminRequest): Asked {
  const user = request.query('user').toLowerCase()
  return {
    userId: isUuid(user) ? user : undefined,
    clientId: request.query('app') || undefined,
    isLate: request.query('state') === 'late',
  }
}

/** One more than a page, to know whether there is another. Of one user the open holds come first, then the ended ones. */
async function readPage({ service }: AdminRequest, asked: Asked, after: HoldPoint | undefined): Promise<SeenHold[]> {
  const db = service.db.pool
  const limit = pageSize + 1
  if (asked.userId === undefined) return await listOpenHoldsByEnd(db, asked, { after, limit })
  const open = after ? [] : await listUnclosedHolds(db, asked.userId, maxOpenOfUser)
  return [...open, ...(await listEndedHolds(db, asked.userId, { before: after, limit }))]
}

async function showHolds(request: AdminRequest): Promise<Response> {
  const { service } = request
  const asked = askedOf(request)
  const { userId, clientId } = asked
  const [found, apps] = await Promise.all([
    readPage(request, asked, readPoint(request.query('after'))),
    service.apps.list(),
  ])
  const ended = found.filter(({ hold }) => hold.closedAt !== null)
  const paged = userId === undefined ? found : ended
  const hasNext = paged.length > pageSize
  const shown = hasNext ? found.slice(0, -1) : found
  const last = hasNext ? shown.at(-1)!.hold : undefined
  const people = await listPeople(service.db.pool, [...new Set(shown.map(({ hold }) => hold.walletId))])
  const owners = new Map(people.map((person) => [person.id, person]))
  const kept = { user: userId, app: clientId, state: asked.isLate ? 'late' : undefined }
  const appName = apps.find((app) => app.clientId === clientId)?.name ?? clientId ?? ''
  const body = (
    <>
      <Heading
        title="Holds"
        sub={
          userId ? 'One user: open holds, then the ended ones.' : 'Money that apps have reserved and not captured yet.'
        }
      >
        {userId && (
          <a class="button quiet small" href={`/admin/wallets/${userId}#holds`}>
            The wallet
          </a>
        )}
      </Heading>
      <section class="card flush">
        {!userId && (
          <form class="row bottom" method="get" action="/admin/holds" data-auto>
            <Field label="State" name="state" value={kept.state ?? ''} options={states} />
            <Field
              label="App"
              name="app"
              value={clientId ?? ''}
              options={[['', 'Any'], ...apps.map((app) => [app.clientId, app.name] as const)]}
            />
            <button class="button quiet" type="submit">
              Apply
            </button>
          </form>
        )}
        <ListHead
          total={undefined}
          what="holds"
          filters={[
            ['user', userId ?? ''],
            ['state', asked.isLate ? 'not closed' : ''],
            ['app', appName],
          ]}
          clear="/admin/holds"
          csv={withQuery('/admin/holds.csv', { user: userId, app: clientId })}
        />
        {shown.length === 0 ? (
          <Nothing asked={asked} />
        ) : (
          <HoldTable
            label="Holds"
            holds={shown}
            apps={apps}
            currency={service.config.currency}
            owners={owners}
            mayVoid={may(request, 'holds')}
          />
        )}
        <Pager
          first={request.query('after') === '' ? undefined : withQuery('/admin/holds', kept)}
          next={last && withQuery('/admin/holds', { ...kept, after: pointText(last, userId !== undefined) })}
        />
      </section>
    </>
  )
  return await showPage(request, { title: 'Holds', here: 'holds', body })
}

function pointText({ createdAt, expiresAt, id }: SeenHold['hold'], isOfUser: boolean): string {
  return `${(isOfUser ? createdAt : expiresAt).toISOString()}_${id}`
}

function readPoint(text: string): HoldPoint | undefined {
  const [at = '', id = ''] = text.split('_')
  const time = new Date(at)
  return /^[0-9a-f]{32}$/.test(id) && !Number.isNaN(time.getTime()) ? { time, id } : undefined
}

function Nothing({ asked: { userId, clientId, isLate } }: { asked: Asked }) {
  if (isLate)
    return (
      <Empty title="None is late">
        <p>Every hold that expired was closed in time.</p>
      </Empty>
    )
  return (
    <Empty title={userId ? 'No holds yet' : 'No open holds'}>
      <p>
        {clientId && !userId
          ? 'The app has reserved nothing that is still open.'
          : 'A hold appears here when an app reserves money before it charges it.'}
      </p>
    </Empty>
  )
}

const head = [
  'id',
  'status',
  'amount',
  'captured',
  'remaining',
  'currency',
  'referenceType',
  'referenceId',
  'description',
  'createdAt',
  'expiresAt',
  'closedAt',
  'userId',
  'clientId',
]

function lineOf({ hold: stored, at }: SeenHold, currency: Currency): string {
  const hold = viewHold(stored, at)
  const money = (minor: bigint) => plain(formatMinor(minor, currency))
  return csvLine([
    holdIdOf(hold.id),
    hold.status,
    money(hold.amountMinor),
    money(hold.capturedMinor + hold.extraMinor),
    money(remainingOf(hold)),
    currency.code,
    hold.referenceType,
    hold.referenceId,
    hold.description,
    hold.createdAt.toISOString(),
    hold.expiresAt.toISOString(),
    hold.closedAt?.toISOString(),
    hold.walletId,
    hold.clientId,
  ])
}

type Page = Awaited<ReturnType<typeof listHoldsByKey>> & { readonly lines: readonly string[] }

/** Open and ended holds, in the order of their wallets. */
async function exportHolds(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const { userId: walletId, clientId } = askedOf(request)
  await recordAudit(service.db.pool, actor, 'holds.exported', 'holds', { walletId, clientId })
  const read = async (before: Page | undefined): Promise<Page | undefined> => {
    if (before && !before.next) return undefined
    const page = { after: before?.next, limit: 1_000 }
    const found = await listHoldsByKey(service.db.pool, { walletId, clientId }, page)
    return { ...found, lines: found.holds.map((seen) => lineOf(seen, service.config.currency)) }
  }
  return download(`holds-${dayText(service.now())}.csv`, csvPages(head, read))
}
