/** Global search. A query that matches exactly one thing redirects to its page. */
import type { Archived } from '../../store/closing/archived-entries.ts'
import { Owner } from '../kit/topup-table.tsx'
import { findAnything, maxFound, searchKinds, type Found } from '../../actions/search/find-anything.ts'
import { isRequestId } from '../../actions/search/search-text.ts'
import { countText, Copy, Heading, Money, Notice, When } from '../kit/parts.tsx'
import { redirect, showPage } from '../kit/respond.tsx'
import { get, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { Help, kindTexts, Nothing } from './search-help.tsx'
import { onlyPathOf } from './search-paths.ts'
import { countResults, Results } from './search-results.tsx'

export const searchRoutes: AdminRoute[] = [get('/admin/search', showSearch)]

async function showSearch(request: AdminRequest): Promise<Response> {
  const q = request.query('q').trim()
  if (q === '') return await showPage(request, { title: 'Search', body: <NoQuery /> })
  const found = await findAnything(request.service, q, (keyed) => onlyPathOf(keyed, q) !== undefined)
  const isAlone = !found.emails?.people.length && !found.anyDay
  const only = isAlone ? onlyPathOf(found, q) : undefined
  if (only) return redirect(only)
  const late = searchKinds.filter((kind) => found.states[kind] === 'late')
  const body = (
    <>
      <Heading
        title="Search"
        sub={
          <>
            For “<bdi>{q}</bdi>”
          </>
        }
      />
      {late.length > 0 && (
        <Notice kind="warn">
          No answer in time: {late.map((kind) => kindTexts[kind].what.toLowerCase()).join(', ')}. The results below are
          not complete; search again.
        </Notice>
      )}
      {isRequestId(q) && <RequestNotice id={q} />}
      {found.amount && <DayNotice request={request} found={found} />}
      <AmountNotice request={request} found={found} />
      <EmailNotice found={found} />
      <Results request={request} found={found} apps={await request.service.apps.list()} q={q} />
      {found.archived.map((entry) => (
        <ArchivedNotice key={entry.walletId} request={request} found={found} entry={entry} />
      ))}
      {countResults(found) + found.archived.length === 0 && !found.amount && <Nothing states={found.states} />}
    </>
  )
  return await showPage(request, { title: 'Search', body })
}

function NoQuery() {
  return (
    <>
      <Heading title="Search" />
      <Help title="What are you looking for?" />
    </>
  )
}

/** No table has request ids: a debit would pay for it. */
function RequestNotice({ id }: { id: string }) {
  return (
    <Notice>
      Request ids are not stored in the database. Find the request in the service’s log: its line has the time, route,
      status and app. <Copy label="text to search the log for" text={`"requestId":"${id}"`} />
    </Notice>
  )
}

const kindsOfSign = { '': 'Debits, credits', '-': 'Debits', '+': 'Credits' }

function DayNotice({ request, found }: { request: AdminRequest; found: Found }) {
  const { day, amountMinor, sign, isWhole, isArchived } = found.amount!
  const what = `${kindsOfSign[sign]}${sign === '-' ? '' : ' and card top-ups'}`
  return (
    <Notice kind={isWhole ? 'info' : 'warn'}>
      {what} of <Money minor={amountMinor} currency={request.service.config.currency} /> on {day} (UTC):{' '}
      {isWhole
        ? found.uses.length + found.topups.length === 0
          ? 'there were none.'
          : found.hasMoreUses
            ? `more than ${maxFound}; these are the first.`
            : `${found.uses.length + found.topups.length}.`
        : 'there are too many entries to search. Find the user and filter the ledger by month.'}
      {isArchived && ' Entries of this day are in the archive.'}
    </Notice>
  )
}

function ArchivedNotice({ request, found, entry }: { request: AdminRequest; found: Found; entry: Archived }) {
  return (
    <Notice kind="info">
      A transaction of <Money minor={entry.amountMinor} currency={request.service.config.currency} isSigned />, user{' '}
      <Owner owners={found.owners} id={entry.walletId} />, is in the archive.
    </Notice>
  )
}

function AmountNotice({ request, found: { anyDay, hasMoreUses } }: { request: AdminRequest; found: Found }) {
  if (!anyDay) return null
  if (anyDay === 'unclear')
    return (
      <Notice kind="warn">
        As an amount this has two meanings: thousands or decimals. Write 1000 or 1.00. It was not searched for.
      </Notice>
    )
  const { amountMinor, sign, from, archivedUntil } = anyDay
  return (
    <Notice kind={from && !hasMoreUses ? 'warn' : 'info'}>
      {sign === '' ? 'Debits and credits' : kindsOfSign[sign]} of{' '}
      <Money minor={amountMinor} currency={request.service.config.currency} />:{' '}
      {hasMoreUses ? (
        `the newest ${maxFound}; there are more.`
      ) : from ? (
        <Since at={from} />
      ) : archivedUntil ? (
        <>
          all entries were searched except those in the archive, which are from before <When at={archivedUntil} />.
        </>
      ) : (
        'all entries were searched.'
      )}{' '}
      Add a day to see one day, with card top-ups: 19.99 2026-11-14.
    </Notice>
  )
}

function Since({ at }: { at: Date }) {
  return (
    <>
      searched the entries since <When at={at} />. There was no time for older ones.
    </>
  )
}

function EmailNotice({ found: { emails } }: { found: Found }) {
  if (!emails || emails.isWhole) return null
  return (
    <Notice kind="warn">
      Parts of emails: searched the newest {countText(emails.scanned)} users
      {emails.people.length >= maxFound
        ? `, and found ${maxFound}. Type more of the email.`
        : '. There was no time for older ones: type the beginning of the email.'}
    </Notice>
  )
}
