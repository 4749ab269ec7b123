/** Finding a wallet. */
import { isUuid } from '../actions/tokens.ts'
import { findPerson, listNewestPeople, searchPeople, type Person } from '../store/user-search.ts'
import { Empty, Field, Heading, Pager, withQuery } from './kit/parts.tsx'
import { redirect, showPage } from './kit/respond.tsx'
import { PeopleTable } from './kit/states.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'

export const walletsRoutes: AdminRoute[] = [get('/admin/wallets', show)]

const pageSize = 50

type Found = { readonly people: readonly Person[]; readonly next: string | undefined }

async function show(request: AdminRequest): Promise<Response> {
  const q = request.query('q').trim()
  const state = request.query('state') === 'frozen' ? 'frozen' : ''
  const exact = await findExactly(request, q)
  if (exact) return redirect(`/admin/wallets/${exact.id}`)
  const { people, next } = q === '' ? await listNewest(request, state === 'frozen') : await search(request, q)
  const isFirst = request.query('after') === ''
  const body = (
    <>
      <Heading title="Wallets" sub="Every user has one. Find a user to see it." />
      <section class="card flush">
        <form class="row bottom" method="get" action="/admin/wallets" role="search">
          <div class="stretch">
            <Field
              label="Find a user"
              name="q"
              type="search"
              value={q}
              hint="The beginning of an email, first or last name; or a whole serviceUserId or user id."
              attributes={{ placeholder: 'ada@example.com, Lovelace, su_…', autocomplete: 'off' }}
            />
          </div>
          <button class="button" type="submit">
            Find
          </button>
          {q === '' && (
            <a class="button quiet" href={state ? '/admin/wallets' : '/admin/wallets?state=frozen'}>
              {state ? 'Show all' : 'Show frozen ones'}
            </a>
          )}
        </form>
        {people.length === 0 ? (
          <Nobody q={q} isFrozen={state === 'frozen'} />
        ) : (
          <PeopleTable currency={request.service.config.currency} people={people} />
        )}
        <Pager
          first={isFirst ? undefined : withQuery('/admin/wallets', { q, state })}
          next={next && withQuery('/admin/wallets', { q, state, after: next })}
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

async function listNewest(request: AdminRequest, isFrozen: boolean): Promise<Found> {
  const after = isUuid(request.query('after')) ? request.query('after') : undefined
  const found = await listNewestPeople(request.service.db.pool, { after, limit: pageSize + 1, isFrozen })
  const people = found.slice(0, pageSize)
  return { people, next: found.length > pageSize ? people.at(-1)!.id : undefined }
}

/** `after` in the address is the id and the sort key of the last user shown: the next page begins after them. */
async function search(request: AdminRequest, q: string): Promise<Found> {
  const [id = '', ...key] = request.query('after').split(' ')
  const after = isUuid(id) ? { id, key: key.join(' ') } : undefined
  const found = await searchPeople(request.service.db.pool, q.normalize('NFC'), { after, limit: pageSize + 1 })
  const matches = found.slice(0, pageSize)
  const last = matches.at(-1)
  return {
    people: matches.map(({ person }) => person),
    next: found.length > pageSize && last ? `${last.person.id} ${last.key}` : undefined,
  }
}

function Nobody({ q, isFrozen }: { q: string; isFrozen: boolean }) {
  if (isFrozen)
    return (
      <Empty title="No wallet is frozen">
        <p>A wallet is frozen by an operator, or by itself when a charge-back leaves it below zero.</p>
      </Empty>
    )
  if (q !== '')
    return (
      <Empty title="Nobody found">
        <p>
          Search goes by the beginning of a word: “ada” finds Ada, “love” finds Lovelace, “lace” finds neither. A
          serviceUserId must be whole.
        </p>
      </Empty>
    )
  return (
    <Empty title="No users yet">
      <p>
        Users sign up by themselves in the widget, once a client app embeds it. To try things out, make one with{' '}
        <code>npx billfold user create</code>.
      </p>
      <a class="button" href="/admin/client-apps">
        Go to the client apps
      </a>
    </Empty>
  )
}
