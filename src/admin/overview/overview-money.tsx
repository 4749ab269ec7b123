/** The money part of the overview: wallet totals, and flows compared with an earlier period. */
import type { ComponentChildren } from 'preact'
import { majorNumber, moneyText, type Currency } from '../../ledger/money.ts'
import type { App } from '../../store/apps.ts'
import type { DayFlow } from '../../store/books/books.ts'
import { FlowChart } from '../kit/chart.tsx'
import { Money, Table, When, countText } from '../kit/parts.tsx'
import type { AdminRequest } from '../kit/route.ts'
import { accountName } from '../kit/states.tsx'
import { Attention, type AttentionData } from './attention.tsx'

export type MoneyData = AttentionData & {
  readonly held: { readonly minor: bigint; readonly at: Date }
  /** Flows of the range, and of the period it is compared with. */
  readonly now: readonly DayFlow[]
  readonly before: readonly DayFlow[]
  /** The days of the chart, and their flows. */
  readonly days: readonly string[]
  readonly flows: readonly DayFlow[]
  readonly span: string
  readonly against: string
  readonly apps: readonly App[]
}

type Props = { request: AdminRequest; data: MoneyData }

/** Into wallets, and out of them. */
type Sum = { readonly inMinor: bigint; readonly outMinor: bigint; readonly transfers: number }

function sumOf(flows: readonly DayFlow[]): Sum {
  return flows.reduce(
    (sum, flow) => ({
      inMinor: sum.inMinor + flow.creditedMinor,
      outMinor: sum.outMinor + flow.debitedMinor,
      transfers: sum.transfers + flow.transfers,
    }),
    { inMinor: 0n, outMinor: 0n, transfers: 0 },
  )
}

export function MoneyFigures({ request, data }: Props) {
  const { currency } = request.service.config
  const [now, before] = [sumOf(data.now), sumOf(data.before)]
  const against = (minor: bigint) => `${moneyText(minor, currency)} in ${data.against}`
  return (
    <>
      <h2>Money</h2>
      <div class="tiles">
        <Figure
          label="Held in wallets"
          note={
            <>
              as of <When at={data.held.at} />
            </>
          }
        >
          <Money minor={data.held.minor} currency={currency} />
        </Figure>
        <Figure label={`Into wallets ${data.span}`} note={against(before.inMinor)}>
          <Money minor={now.inMinor} currency={currency} /> <Change now={now.inMinor} before={before.inMinor} />
        </Figure>
        <Figure label={`Out of wallets ${data.span}`} note={against(before.outMinor)}>
          <Money minor={now.outMinor} currency={currency} /> <Change now={now.outMinor} before={before.outMinor} />
        </Figure>
        <Figure label={`Debits and credits ${data.span}`} note={`${countText(before.transfers)} in ${data.against}`}>
          {countText(now.transfers)}
        </Figure>
      </div>
      <Attention request={request} data={data} />
      <section class="card stack">
        <h2>By day</h2>
        <Days data={data} currency={currency} />
      </section>
      <Accounts data={data} currency={currency} />
    </>
  )
}

function Figure({ label, note, children }: { label: string; note?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="card tile">
      <p class="label">{label}</p>
      <p class="value">{children}</p>
      {note && <p class="against">{note}</p>}
    </div>
  )
}

/** In whole percent; empty when there is nothing to compare with. */
function Change({ now, before }: { now: bigint; before: bigint }) {
  if (before === 0n) return null
  const percent = Number(((now - before) * 100n) / before)
  return (
    <span class="small muted">{`${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${countText(Math.abs(percent))} %`}</span>
  )
}

function Days({ data, currency }: { data: MoneyData; currency: Currency }) {
  const byDay = data.days.map((day) => ({ day, ...sumOf(data.flows.filter((flow) => flow.day === day)) }))
  const bars = byDay.map(({ day, inMinor, outMinor }) => ({
    label: day.slice(5),
    up: majorNumber(inMinor, currency),
    down: majorNumber(outMinor, currency),
    title: `${day}: ${moneyText(inMinor, currency)} in, ${moneyText(outMinor, currency)} out`,
  }))
  const moved = byDay.filter((day) => day.transfers > 0)
  return (
    <>
      <figure>
        <FlowChart
          bars={bars}
          label={`Money by day from ${data.days[0]} to ${data.days.at(-1)}: into wallets above the line, out of them below`}
          format={(value) =>
            new Intl.NumberFormat('en', { style: 'currency', currency: currency.code, notation: 'compact' }).format(
              value,
            )
          }
        />
        <figcaption class="legend">
          <span>Into wallets</span>
          <span class="down">Out of wallets</span>
        </figcaption>
      </figure>
      {moved.length > 0 && (
        <details>
          <summary>Show as a table</summary>
          <Table label="By day" head={['Day', ['In'], ['Out'], ['Debits and credits']]}>
            {moved.map(({ day, inMinor, outMinor, transfers }) => (
              <tr key={day}>
                <td>{day}</td>
                <td class="number">
                  <Money minor={inMinor} currency={currency} />
                </td>
                <td class="number">
                  <Money minor={outMinor} currency={currency} />
                </td>
                <td class="number">{countText(transfers)}</td>
              </tr>
            ))}
          </Table>
        </details>
      )}
    </>
  )
}

const maxAccounts = 15

const ofAccount = (flows: readonly DayFlow[], account: string) =>
  sumOf(flows.filter((flow) => flow.account === account))

function Accounts({ data, currency }: { data: MoneyData; currency: Currency }) {
  const names = [...new Set([...data.now, ...data.before].map((flow) => flow.account))]
  const accounts = names
    .map((account) => ({ account, now: ofAccount(data.now, account), before: ofAccount(data.before, account) }))
    .sort((a, b) => Number(b.now.inMinor + b.now.outMinor - a.now.inMinor - a.now.outMinor))
  const shown = accounts.slice(0, maxAccounts)
  return (
    <section class="card flush">
      <div class="heading">
        <h2>By app, {data.span}</h2>
        <a class="small" href="/admin/books">
          {accounts.length > shown.length ? `All ${accounts.length}, in the books` : 'Books'}
        </a>
      </div>
      {shown.length === 0 ? (
        <p class="empty muted">
          No app moved money {data.span} or in {data.against}.
        </p>
      ) : (
        <Table label="By app" head={['Account', ['In'], ['Before'], ['Out'], ['Before'], ['Debits and credits']]}>
          {shown.map(({ account, now, before }) => (
            <tr key={account}>
              <td class="wide">
                {account.startsWith('app:') ? (
                  <a href={`/admin/client-apps/${account.slice(4)}`}>{accountName(data.apps, account)}</a>
                ) : (
                  accountName(data.apps, account)
                )}
              </td>
              <td class="number">
                <Money minor={now.inMinor} currency={currency} />
              </td>
              <td class="number muted">
                <Money minor={before.inMinor} currency={currency} />
              </td>
              <td class="number">
                <Money minor={now.outMinor} currency={currency} />
              </td>
              <td class="number muted">
                <Money minor={before.outMinor} currency={currency} />
              </td>
              <td class="number">{countText(now.transfers)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
