/** The ledger table of a wallet: paged, with a filter. */
import { ownerOfEntry } from '../../actions/money/inspect-reference.ts'
import { parseMonth } from '../../actions/money/write-statement.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import type { Correction } from '../../store/corrections.ts'
import { findHoldsOfEntries } from '../../store/books/hold-lists.ts'
import { transactionIdOf } from '../../store/outcomes.ts'
import {
  findLedgerPage,
  findSequences,
  type LedgerFilter,
  type LedgerPage as StoredPage,
} from '../../store/transfers.ts'
import type { Transfer, WalletRow } from '../../store/wallets.ts'
import { CorrectionMarks, readCorrectionsOf } from '../kit/correction-marks.tsx'
import { HoldMark } from '../kit/hold-table.tsx'
import { Icon } from '../kit/icons.tsx'
import { CopyIcon, Empty, Field, ListHead, localTime, Money, Pager, Table, When, withQuery } from '../kit/parts.tsx'
import { may, type AdminRequest } from '../kit/route.ts'
import { accountName } from '../kit/states.tsx'

const pageSize = 50
/** One page reads at most this many transfers to find those that match the filter. */
const span = 20_000

export type LedgerPage = StoredPage & {
  readonly hasFilter: boolean
  readonly corrections: readonly Correction[]
  /** On the last page: how many older entries are in the archive; 0 without. */
  readonly archived: number
  /** The holds that entries captured, by sequence. */
  readonly holds: ReadonlyMap<number, string>
}

function ledgerFilterOf(request: AdminRequest): LedgerFilter {
  const text = (name: string) => request.query(name).trim() || undefined
  const direction = text('direction')
  return {
    direction: direction === 'debit' || direction === 'credit' ? direction : undefined,
    counterAccount: text('account'),
    referenceType: text('type'),
    referenceId: text('ref'),
  }
}

export async function readLedger(request: AdminRequest, walletId: string): Promise<LedgerPage> {
  const asked = request.query('before')
  const before = /^\d{1,15}$/.test(asked) ? Number(asked) : undefined
  const page = await findLedger(request, walletId, before, pageSize)
  const db = request.service.db.pool
  const [corrections, holds] = await Promise.all([
    readCorrectionsOf(db, page.transfers),
    findHoldsOfEntries(
      db,
      walletId,
      page.transfers.map(({ sequence }) => sequence),
    ),
  ])
  return { ...page, corrections, holds }
}

/** The entries below a sequence that match the filter in the address. */
export async function findLedger(
  request: AdminRequest,
  walletId: string,
  before: number | undefined,
  limit: number,
): Promise<Omit<LedgerPage, 'corrections' | 'holds'>> {
  const db = request.service.db.pool
  const month = parseMonth(request.query('month'))
  const filter = ledgerFilterOf(request)
  const { bottom, top, hasArchived } = await findSequences(db, walletId, month ?? {})
  const hasFilter = month !== undefined || Object.values(filter).some((value) => value !== undefined)
  const below = Math.min(top, before ?? Number.MAX_SAFE_INTEGER)
  const page = await findLedgerPage(db, walletId, { bottom, top: below, limit, span }, filter)
  return { ...page, hasFilter, archived: page.nextBefore === undefined && hasArchived ? bottom - 1 : 0 }
}

type LedgerProps = { request: AdminRequest; wallet: WalletRow; page: LedgerPage; apps: readonly App[] }

export function Ledger({ request, wallet, page, apps }: LedgerProps) {
  const path = `/admin/wallets/${wallet.id}`
  const kept = {
    direction: request.query('direction'),
    account: request.query('account'),
    type: request.query('type'),
    ref: request.query('ref'),
    month: request.query('month'),
  }
  return (
    <section class="card flush" id="ledger">
      <div class="heading">
        <h2>Ledger</h2>
      </div>
      <form method="get" action={`${path}#ledger`}>
        <details open={page.hasFilter}>
          <summary>Filter</summary>
          <div class="row bottom">
            <Field
              label="Direction"
              name="direction"
              value={kept.direction}
              options={[
                ['', 'Both'],
                ['debit', 'Debits'],
                ['credit', 'Credits'],
              ]}
            />
            <Field
              label="Other side"
              name="account"
              value={kept.account}
              options={[
                ['', 'Any'],
                ['cards', 'Card top-ups'],
                ['bonus', 'Bonuses'],
                ['adjustments', 'Adjustments'],
                ...apps.map((app) => [counterAccountOfApp(app.clientId), app.name] as const),
              ]}
            />
            <Field label="Reference type" name="type" value={kept.type} />
            <Field label="Reference id" name="ref" value={kept.ref} />
            <Field label="Month" name="month" type="month" value={kept.month} />
            <button class="button quiet" type="submit">
              Apply
            </button>
          </div>
        </details>
      </form>
      <ListHead
        total={page.hasFilter ? undefined : wallet.sequence}
        what={wallet.sequence === 1 ? 'entry' : 'entries'}
        filters={[
          ['direction', kept.direction],
          ['other side', kept.account && accountName(apps, kept.account)],
          ['type', kept.type],
          ['reference', kept.ref],
          ['month', kept.month && `${kept.month} UTC`],
        ]}
        clear={`${path}#ledger`}
        csv={withQuery(`${path}/ledger.csv`, kept)}
      />
      {page.transfers.length === 0 ? (
        <Empty title={page.hasFilter ? 'No matches here' : page.archived > 0 ? 'In the archive' : 'No entries yet'}>
          <p>
            {page.isSpanEnd
              ? `None of the last ${span.toLocaleString('en')} entries match. Older ones may.`
              : page.hasFilter
                ? `No entry ${page.archived > 0 ? 'outside the archive' : 'of this wallet'} matches the filter.`
                : page.archived > 0
                  ? 'Every entry of this wallet is there.'
                  : wallet.frozenFor === 'closed'
                    ? 'The account was deleted before its first entry.'
                    : 'The first top-up, credit or bonus appears here.'}
          </p>
        </Empty>
      ) : (
        <Entries request={request} page={page} apps={apps} />
      )}
      {page.archived > 0 && <ArchivedNote count={page.archived} />}
      <Pager
        first={request.query('before') ? `${withQuery(path, kept)}#ledger` : undefined}
        next={
          page.nextBefore === undefined ? undefined : `${withQuery(path, { ...kept, before: page.nextBefore })}#ledger`
        }
        label={page.isSpanEnd ? 'Search older entries' : 'Older'}
      />
    </section>
  )
}

function Entries({ request, page, apps }: { request: AdminRequest; page: LedgerPage; apps: readonly App[] }) {
  const mayCorrect = may(request, 'correct')
  const { currency } = request.service.config
  return (
    <Table
      label="Ledger"
      class="ledger"
      head={[
        ['#'],
        localTime,
        'Kind',
        'App',
        'Reference',
        'Description',
        ['Amount'],
        ['Balance after'],
        ...(mayCorrect ? [''] : []),
      ]}
    >
      {page.transfers.map((transfer) => (
        <tr key={transfer.sequence}>
          <td class="number muted sequence">{transfer.sequence}</td>
          <td class="time">
            <When at={transfer.createdAt} hasZone={false} />
          </td>
          <td class="kind">
            <Cut text={transfer.referenceType} />
          </td>
          <td class="app">
            <Cut text={accountName(apps, transfer.counterAccount)} />
          </td>
          <td class="reference">
            <div>
              <a class="cut" href={referencePath(transfer)} title={transfer.referenceId}>
                {transfer.referenceId}
              </a>
              <CopyIcon label={`reference ${transfer.referenceId}`} text={transfer.referenceId} />
            </div>
          </td>
          <td class="about">
            <CorrectionMarks corrections={page.corrections} entry={transfer} />
            <HoldMark holdId={page.holds.get(transfer.sequence)} />
            {transfer.description && <Cut text={transfer.description} />}
          </td>
          <td class="number amount-cell">
            <Money minor={transfer.amountMinor} currency={currency} isSigned />
          </td>
          <td class="number balance">
            <Money minor={transfer.balanceAfterMinor} currency={currency} />
          </td>
          {mayCorrect && (
            <td class="act">
              <a href={correctPath(transfer)} title="Correct…">
                <Icon name="corrections" />
                <span class="visually-hidden">Correct… entry {transfer.sequence}</span>
              </a>
            </td>
          )}
        </tr>
      ))}
    </Table>
  )
}

function ArchivedNote({ count }: { count: number }) {
  return (
    <p class="empty muted">
      <span>
        {count === 1 ? 'Entry 1 is' : `Entries 1 to ${count.toLocaleString('en')} are`} in the archive:{' '}
        <code>npx billfold archive restore</code> brings a period back.
      </span>
    </p>
  )
}

/** One line, cut off where it is too long. The title and the page of the reference have the whole text. */
function Cut({ text }: { text: string }) {
  return (
    <span class="cut" title={text}>
      {text}
    </span>
  )
}

function referencePath(entry: Transfer): string {
  const { referenceType: type, referenceId: id } = entry
  return withQuery('/admin/references', { app: ownerOfEntry(entry), type, id })
}

function correctPath({ walletId, referenceKey }: Transfer): string {
  return `/admin/wallets/${walletId}/correct?transaction=${transactionIdOf(referenceKey)}`
}
