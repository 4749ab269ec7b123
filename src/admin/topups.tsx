/** Card top-ups: all of them, those of one user, or those that somebody has to look at. */
import { isUuid } from '../actions/tokens.ts'
import { listTopups } from '../store/topups.ts'
import { Empty, Heading, Pager, withQuery } from './kit/parts.tsx'
import { showPage } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { TopupTable } from './kit/topup-table.tsx'

export const topupsRoutes: AdminRoute[] = [get('/admin/topups', show)]

const pageSize = 50

async function show(request: AdminRequest): Promise<Response> {
  const user = isUuid(request.query('user')) ? request.query('user') : ''
  const state = request.query('state') === 'problem' ? 'problem' : ''
  const found = await listTopups(request.service.db.pool, {
    userId: user === '' ? undefined : user,
    hasProblem: state === 'problem',
    before: readCursor(request.query('before')),
    limit: pageSize + 1,
  })
  const topups = found.slice(0, pageSize)
  const last = found.length > pageSize ? topups.at(-1) : undefined
  const here = (more: Record<string, string | undefined>) => withQuery('/admin/topups', { user, state, ...more })
  const body = (
    <>
      <Heading title="Card top-ups" sub={user ? 'Of one user' : 'Money that came in by card, the newest first.'}>
        {user && (
          <a class="button quiet small" href={`/admin/wallets/${user}`}>
            The wallet
          </a>
        )}
        <a class="button quiet small" href={here({ state: state ? undefined : 'problem' })}>
          {state ? 'Show all' : 'Show those with a problem'}
        </a>
      </Heading>
      <section class="card flush">
        {topups.length === 0 ? <Nothing state={state} /> : <TopupTable topups={topups} />}
        <Pager
          first={request.query('before') === '' ? undefined : here({})}
          next={last && here({ before: `${last.createdAt.toISOString()}_${last.id}` })}
        />
      </section>
    </>
  )
  return await showPage(request, { title: 'Card top-ups', here: 'topups', body })
}

function readCursor(text: string): { createdAt: Date; id: string } | undefined {
  const [at = '', id = ''] = text.split('_')
  const createdAt = new Date(at)
  return isUuid(id) && !Number.isNaN(createdAt.getTime()) ? { createdAt, id } : undefined
}

function Nothing({ state }: { state: string }) {
  return state === '' ? (
    <Empty title="No top-ups yet">
      <p class="muted">They appear here as soon as somebody adds money in the widget.</p>
    </Empty>
  ) : (
    <Empty title="No problems">
      <p class="muted">Every card payment was what was ordered, and is in its wallet.</p>
    </Empty>
  )
}
