/** The list of wallets, with search and filters. */
import { recordAudit } from '../../actions/audit.ts'
import { isUuid } from '../../actions/tokens.ts'
import { formatMinor } from '../../ledger/money.ts'
import {
  countPeople,
  findPerson,
  listNewestPeople,
  searchPeople,
  type PeopleFilter,
  type Person,
  type WalletStates,
} from '../../store/people/user-search.ts'
import { csvLine, csvPages, download, plain } from '../../web/csv.ts'
import { byTime } from '../kit/filters.tsx'
import { dayText, Empty, Field, Heading, ListHead, maxTotal, Pager, sortable, withQuery } from '../kit/parts.tsx'
import { redirect, showPage } from '../kit/respond.tsx'
import { PeopleTable } from '../kit/states.tsx'
import { get, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const walletsRoutes: AdminRoute[] = [
  get('/admin/wallets', showWallets),
  get('/admin/wallets.csv', exportWallets),
]

const pageSize = 50

const states = [
  ['', 'Any'],
  ['frozen', 'frozen'],
  ['operator', 'frozen by an operator'],
  ['debt', 'in debt'],
  ['deleted', 'deleted'],
] as const satisfies readonly (readonly [WalletStates | '', string])[]

/** The last two need a state filter: see PeopleOrder. */
const orders = [
  ['', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['most', 'Highest balance first'],
  ['least', 'Lowest balance first'],
] as const

type Found = { readonly people: readonly Person[]; readonly next: string | undefined }

function walletFilterOf(request: AdminRequest): PeopleFilter {
  const state = states.find(([name]) => name === request.query('state'))?.[0]
  const given = request.query('order')
  const order = (state ? orders : orders.slice(0, 2)).find(([name]) => name === given)?.[0] || 'newest'
  return { state: state || undefined, order }
}

async function showWallets(request: AdminRequest): Promise<Response> {
  const q = request.query('q').trim()
  const exact = await findExactly(request, q)
  if (exact) return redirect(`/admin/wallets/${exact.id}`)
  const filter = walletFilterOf(request)
  const after = request.query('after')
  const [{ people, next }, counted] = await Promise.all([
    readWallets(request, q, filter, after, pageSize),
    q === '' ? countPeople(request.service.db.pool, filter, maxTotal + 1) : undefined,
  ])
  const total = counted ?? (next || after ? undefined : people.length)
  const order = filter.order === 'newest' ? '' : filter.order!
  const kept = { q, state: q === '' ? filter.state : undefined, order }
  const hrefOf = (changed: string) => withQuery('/admin/wallets', { ...kept, order: changed })
  const heads = {
    ...(q === '' && { since: sortable('Since', byTime, { order, hrefOf }) }),
    ...(q === '' &&
      filter.state && {
        balance: sortable('Balance', { descending: 'most', ascending: 'least' }, { order, hrefOf, isNumber: true }),
      }),
  }
  const body = (
    <>
      <Heading title="Wallets" sub="Every user has one wallet. Find a user to open it.">
        <a class="button quiet small" href="/admin/deletions">
          Requested deletions
        </a>
      </Heading>
      <section class="card flush">
        <form class="row bottom" method="get" action="/admin/wallets" role="search" aria-label="Wallets" data-auto>
          <div class="stretch">
            <Field
              label="Find a user"
              name="q"
              type="search"
              value={q}
              hint="The beginning of an email, first or last name, or a complete serviceUserId or user id."
              attributes={{ placeholder: 'ada@example.com, Lovelace, su_…', autocomplete: 'off' }}
            />
          </div>
          {q === '' && (
            <>
              <Field label="State" name="state" value={filter.state ?? ''} options={states} />
              <Field label="Order" name="order" value={order} options={filter.state ? orders : orders.slice(0, 2)} />
            </>
          )}
          <button class="button" type="submit">
            Find
          </button>
        </form>
        <ListHead
          total={total ?? (q === '' ? undefined : `more than ${pageSize}`)}
          what={q === '' ? (total === 1 ? 'wallet' : 'wallets') : 'found, by email and name'}
          filters={[
            ['begins with', q],
            ['state', states.find(([name]) => name !== '' && name === kept.state)?.[1] ?? ''],
          ]}
          clear="/admin/wallets"
          csv={withQuery('/admin/wallets.csv', kept)}
        />
        {people.length === 0 ? (
          <NoWallets q={q} isFiltered={filter.state !== undefined} />
        ) : (
          <PeopleTable currency={request.service.config.currency} people={people} {...heads} />
        )}
        <Pager
          first={after === '' ? undefined : withQuery('/admin/wallets', kept)}
          next={next && withQuery('/admin/wallets', { ...kept, after: next })}
        />
      </section>
    </>
  )
  return await showPage(request, { title: 'Wallets', here: 'wallets', body })
}

async function findExactly({ service }: AdminRequest, q: string): Promise<Person | undefined> {
  const db = service.db.pool
  if (q.startsWith('su_')) return await findPerson(db, { serviceUserId: q })
  return isUuid(q.toLowerCase()) ? await findPerson(db, { id: q.toLowerCase() }) : undefined
}

async function readWallets(
  request: AdminRequest,
  q: string,
  filter: PeopleFilter,
  after: string,
  limit: number,
): Promise<Found> {
  if (q !== '') return await search(request, q, after, limit)
  const [id = '', balance = ''] = after.split(' ')
  const isByBalance = filter.order === 'most' || filter.order === 'least'
  const isKnown = isUuid(id) && (!isByBalance || /^-?\d{1,18}$/.test(balance))
  const start = isKnown ? { id, balanceMinor: isByBalance ? BigInt(balance) : undefined } : undefined
  const found = await listNewestPeople(request.service.db.pool, { ...filter, after: start, limit: limit + 1 })
  const people = found.slice(0, limit)
  const last = found.length > limit ? people.at(-1) : undefined
  return { people, next: last && (isByBalance ? `${last.id} ${last.balanceMinor}` : last.id) }
}

/** The cursor `after` is the id and sort key of the last user shown. */
async function search(request: AdminRequest, q: string, shown: string, limit: number): Promise<Found> {
  const [id = '', ...key] = shown.split(' ')
  const after = isUuid(id) ? { id, key: key.join(' ') } : undefined
  const found = await searchPeople(request.service.db.pool, q.normalize('NFC'), { after, limit: limit + 1 })
  const matches = found.slice(0, limit)
  const last = matches.at(-1)
  return {
    people: matches.map(({ person }) => person),
    next: found.length > limit && last ? `${last.person.id} ${last.key}` : undefined,
  }
}

function NoWallets({ q, isFiltered }: { q: string; isFiltered: boolean }) {
  if (q === '' && isFiltered)
    return (
      <Empty title="No wallet is in this state">
        <p>
          An operator can freeze a wallet. A charge-back that leaves less than zero available freezes it automatically.
        </p>
      </Empty>
    )
  if (q !== '')
    return (
      <Empty title="No users found">
        <p>
          Search matches the beginning of a word: “ada” finds Ada, “love” finds Lovelace, “lace” finds neither. A
          serviceUserId must be complete.
        </p>
      </Empty>
    )
  return (
    <Empty title="No users yet">
      <p>
        Users sign up in the widget once a client app embeds it. To try things out, create one with{' '}
        <code>npx billfold user create</code>.
      </p>
      <a class="button" href="/admin/client-apps">
        Go to the client apps
      </a>
    </Empty>
  )
}

type CsvPage = Found & { readonly lines: readonly string[] }

async function exportWallets(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const { currency } = service.config
  const [q, filter] = [request.query('q').trim(), walletFilterOf(request)]
  await recordAudit(service.db.pool, actor, 'wallets.exported', 'wallets')
  const readPage = async (before: CsvPage | undefined): Promise<CsvPage | undefined> => {
    if (before && !before.next) return undefined
    const found = await readWallets(request, q, filter, before?.next ?? '', 1_000)
    const lines = found.people.map((person) =>
      csvLine([
        person.id,
        person.email,
        person.firstName,
        person.lastName,
        plain(formatMinor(person.balanceMinor, currency)),
        currency.code,
        person.frozenFor ?? 'active',
        person.createdAt.toISOString(),
        plain(formatMinor(person.balanceMinor - person.heldMinor, currency)),
      ]),
    )
    return { ...found, lines }
  }
  const head = ['userId', 'email', 'firstName', 'lastName', 'balance', 'currency', 'state', 'createdAt', 'available']
  return download(`wallets-${dayText(service.now())}.csv`, csvPages(head, readPage))
}
