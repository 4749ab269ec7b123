/** The books: each account's position by day and month, and the result of the continuous check. */
import { Readable } from 'node:stream'
import { recordAudit } from '../../actions/audit.ts'
import type { Service } from '../../actions/service.ts'
import { monthOf, parseMonth, type Month } from '../../actions/money/write-statement.ts'
import { formatMinor, majorNumber, moneyText } from '../../ledger/money.ts'
import type { App } from '../../store/apps.ts'
import {
  getPositionBefore,
  listAccountFlows,
  listDayFlows,
  listMonthFlows,
  type DayFlow,
} from '../../store/books/books.ts'
import { listArchives } from '../../store/closing/archive/archived-periods.ts'
import { getBooksState } from '../../store/verify/books-check.ts'
import { listUsers } from '../../store/people/users.ts'
import { describeLog } from '../../actions/proofs/describe-log.ts'
import { BooksCheck } from './books-check.tsx'
import { BooksLog } from './books-log.tsx'
import { csvLine, plain, download } from '../../web/csv.ts'
import { FlowChart } from '../kit/chart.tsx'
import { dayText, Empty, Field, Heading, Money, Table, withQuery } from '../kit/parts.tsx'
import { redirect, showPage, showProblem } from '../kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from '../kit/route.ts'
import { accountName } from '../kit/states.tsx'

export const booksRoutes: AdminRoute[] = [
  get('/admin/books', showBooks),
  get('/admin/books/settlement.csv', exportSettlement),
  get('/admin/books/checkpoint', downloadCheckpoint),
]

async function showBooks(request: AdminRequest): Promise<Response> {
  const { service } = request
  const db = service.db.pool
  const month = parseMonth(request.query('month')) ?? monthOf(service.now())
  const account = request.query('account') || undefined
  const span = { from: dayText(month.from), until: dayText(month.until) }
  const [state, archives, log, accounts, days, months, apps] = await Promise.all([
    getBooksState(db),
    listArchives(db),
    describeLog(service),
    listAccountFlows(db, span),
    listDayFlows(db, { account, ...span }),
    listMonthFlows(
      db,
      account,
      dayText(new Date(Date.UTC(month.from.getUTCFullYear() - 1, month.from.getUTCMonth() + 1))),
    ),
    service.apps.list(),
  ])
  const owners = await listUsers(db, [...new Set(state.problems.flatMap(({ walletId }) => walletId ?? []))])
  const known = [...new Set(accounts.map((each) => each.account))]
  const body = (
    <>
      <Heading title="Books" sub="Double entry: money that leaves a wallet arrives in an account." />
      <BooksCheck
        request={request}
        state={state}
        owners={new Map(owners.map((user) => [user.id, user]))}
        archives={archives}
      />
      <BooksLog log={log} state={state} />
      <section class="card flush">
        <form class="row bottom" method="get" action="/admin/books" data-auto>
          <Field
            label="Account"
            name="account"
            value={account ?? ''}
            options={[['', 'All accounts'], ...known.map((each): [string, string] => [each, accountName(apps, each)])]}
          />
          <Field label="Month" name="month" type="month" value={month.text} attributes={{ placeholder: '2025-03' }} />
          <button class="button quiet" type="submit">
            Show
          </button>
          <a class="button quiet" href={withQuery('/admin/books/settlement.csv', { month: month.text, account })}>
            Settlement CSV
          </a>
        </form>
        {accounts.length === 0 ? (
          <Empty title="No money has moved yet">
            <p>The first debit, credit, top-up or bonus appears here.</p>
          </Empty>
        ) : (
          <Flows request={request} month={month} days={days} account={account} apps={apps} />
        )}
      </section>
      {accounts.length > 0 && (
        <section class="card flush">
          <div class="heading">
            <h2>Positions at the end of {month.text}</h2>
          </div>
          <Table label="Positions" head={['Account', ['Debited'], ['Credited'], ['Transfers'], ['Position']]}>
            {accounts.map((each) => (
              <tr key={each.account}>
                <td>
                  <a href={withQuery('/admin/books', { account: each.account, month: month.text })}>
                    {accountName(apps, each.account)}
                  </a>
                </td>
                <td class="number">
                  <Money minor={each.debitedMinor} currency={service.config.currency} />
                </td>
                <td class="number">
                  <Money minor={each.creditedMinor} currency={service.config.currency} />
                </td>
                <td class="number">{each.transfers.toLocaleString('en')}</td>
                <td class="number">
                  <strong>
                    <Money minor={each.positionMinor} currency={service.config.currency} />
                  </strong>
                </td>
              </tr>
            ))}
          </Table>
        </section>
      )}
      {months.length > 0 && (
        <section class="card flush">
          <div class="heading">
            <h2>By month{account && `: ${accountName(apps, account)}`}</h2>
          </div>
          <Table label="By month" head={['Month', ['Debited'], ['Credited'], ['Net'], ['Transfers']]}>
            {months.toReversed().map((each) => (
              <tr key={each.month}>
                <td>
                  <a href={withQuery('/admin/books', { account, month: each.month })}>{each.month}</a>
                </td>
                <td class="number">
                  <Money minor={each.debitedMinor} currency={service.config.currency} />
                </td>
                <td class="number">
                  <Money minor={each.creditedMinor} currency={service.config.currency} />
                </td>
                <td class="number">
                  <Money minor={each.debitedMinor - each.creditedMinor} currency={service.config.currency} />
                </td>
                <td class="number">{each.transfers.toLocaleString('en')}</td>
              </tr>
            ))}
          </Table>
        </section>
      )}
    </>
  )
  return await showPage(request, { title: 'Books', here: 'books', body })
}

type FlowsProps = {
  request: AdminRequest
  month: Month
  days: readonly DayFlow[]
  account: string | undefined
  apps: readonly App[]
}

function Flows({ request, month, days, account, apps }: FlowsProps) {
  const { currency } = request.service.config
  const byDay = new Map<string, { debited: bigint; credited: bigint }>()
  for (let at = month.from; at < month.until; at = new Date(at.getTime() + 86_400_000))
    byDay.set(dayText(at), { debited: 0n, credited: 0n })
  for (const { day, debitedMinor, creditedMinor } of days) {
    const sum = byDay.get(day)
    if (sum) byDay.set(day, { debited: sum.debited + debitedMinor, credited: sum.credited + creditedMinor })
  }
  const bars = [...byDay].map(([day, { debited, credited }]) => ({
    label: String(Number(day.slice(8))),
    up: majorNumber(debited, currency),
    down: majorNumber(credited, currency),
    title: `${day}: ${moneyText(debited, currency)} debited, ${moneyText(credited, currency)} credited`,
  }))
  const whose = account ? accountName(apps, account) : 'All accounts'
  const moved = [...byDay].filter(([, sum]) => sum.debited > 0n || sum.credited > 0n)
  return (
    <>
      <div class="pager chart-frame">
        <figure>
          <FlowChart bars={bars} label={`${whose}, ${month.text}, by day: debited above the line, credited below`} />
          <figcaption class="legend">
            <span>Debited from wallets</span>
            <span class="down">Credited to wallets</span>
          </figcaption>
        </figure>
      </div>
      <div class="pager">
        <details class="stretch">
          <summary>Show as a table</summary>
          <Table label="By day" head={['Day', ['Debited'], ['Credited'], ['Net']]}>
            {moved.map(([day, { debited, credited }]) => (
              <tr key={day}>
                <td>{day}</td>
                <td class="number">
                  <Money minor={debited} currency={currency} />
                </td>
                <td class="number">
                  <Money minor={credited} currency={currency} />
                </td>
                <td class="number">
                  <Money minor={debited - credited} currency={currency} />
                </td>
              </tr>
            ))}
          </Table>
        </details>
      </div>
    </>
  )
}

/** Public: it has sizes and hashes, and no name. */
async function downloadCheckpoint(request: AdminRequest): Promise<Response> {
  const log = await describeLog(request.service)
  // The page says that nothing is sealed yet.
  if (!log?.newest) return redirect('/admin/books')
  return download(`checkpoint-${log.newest.size}.txt`, Readable.from([log.newest.note]), 'text/plain; charset=utf-8')
}

async function exportSettlement(request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const month = parseMonth(request.query('month'))
  if (!month) return await showProblem(request, 422, 'Enter the month as year and month, such as 2025-03.')
  const account = request.query('account') || undefined
  await recordAudit(service.db.pool, actor, 'books.settlement-exported', 'books', {
    month: month.text,
    account: account ?? 'all',
  })
  return download(
    `settlement-${account?.replace(/^app:/, '') ?? 'all'}-${month.text}.csv`,
    settlementLines(service, month, account),
  )
}

/** One CSV line per account and day. A line's position is the day's closing position. */
async function* settlementLines(service: Service, month: Month, account: string | undefined): AsyncGenerator<string> {
  const db = service.db.pool
  const { currency } = service.config
  const span = { from: dayText(month.from), until: dayText(month.until) }
  const money = (minor: bigint) => plain(formatMinor(minor, currency))
  yield csvLine(['account', 'day', 'debited', 'credited', 'net', 'transfers', 'position', 'currency'])
  const days = await listDayFlows(db, { account, ...span })
  const accounts = account ? [account] : [...new Set((await listAccountFlows(db, span)).map((each) => each.account))]
  for (const each of accounts) {
    let position = await getPositionBefore(db, each, span.from)
    let text = csvLine([each, plain('opening'), null, null, null, null, money(position), currency.code])
    for (const flow of days.filter((day) => day.account === each)) {
      const net = flow.debitedMinor - flow.creditedMinor
      position += net
      text += csvLine([
        each,
        flow.day,
        money(flow.debitedMinor),
        money(flow.creditedMinor),
        money(net),
        flow.transfers,
        money(position),
        currency.code,
      ])
    }
    yield text + csvLine([each, plain('closing'), null, null, null, null, money(position), currency.code])
  }
}
