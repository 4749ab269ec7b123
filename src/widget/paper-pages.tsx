/** The receipt, and the page shown when a paper cannot be. */
import type { ComponentChildren } from 'preact'
import type { ActivityEntry } from '../actions/money/read-activity.ts'
import { toWidgetTransaction } from '../api/widget-activity.ts'
import type { Language } from '../languages/languages.ts'
import { fill } from '../languages/words.ts'
import type { Currency } from '../ledger/money.ts'
import { titleOf } from './client/activity/latest.tsx'
import { exactTime, formatMoney } from './client/format.ts'
import type { Say } from './client/page-context.tsx'
import { AppMark } from './client/parts.tsx'
import { ServicePage } from './explain.tsx'
import type { ServiceData } from './page-data.ts'
import { ProofSection, type PaperProof } from './paper-proof.tsx'

/** The texts of entries are those of the wallet page. */
export function sayIn({ wallet, code }: Language): Say {
  return (key, values = {}) => fill(wallet[key], values, code)
}

/** Instead of a paper that cannot be shown. */
export function NoPaperPage({ about, title, text }: { about: ServiceData; title: string; text: string }) {
  return (
    <ServicePage service={about} icon="receipt" title={title}>
      <p class="muted">{text}</p>
    </ServicePage>
  )
}

type SheetProps = {
  language: Language
  about: ServiceData
  title: string
  fileUrl?: string
  fileLabel?: string
  proof?: PaperProof
  children: ComponentChildren
}

export function Sheet({ language, about, title, fileUrl, fileLabel, proof, children }: SheetProps) {
  const words = language.paper
  const support = about.support?.replace(/^mailto:/, '')
  return (
    <main class="sheet">
      <header>
        <span class="from">
          <AppMark name={about.name} logo={about.logo} />
          <span>{about.name}</span>
        </span>
        <span class="actions">
          {fileUrl && (
            <a id="file" class="button" href={fileUrl} download>
              {fileLabel ?? words.csvFile}
            </a>
          )}
          {proof?.fileUrl && (
            <a id="proof" class="button" href={proof.fileUrl} download>
              {words.proof}
            </a>
          )}
          <button type="button" id="print" hidden>
            {words.print}
          </button>
        </span>
        <h1>{title}</h1>
      </header>
      {children}
      {support && (
        <footer>
          {words.questions} <bdi>{support}</bdi>
        </footer>
      )}
    </main>
  )
}

type RowsProps = {
  rows: readonly (readonly [name: string, value: ComponentChildren])[]
  /** On a page that has another style than a paper. */
  class?: string
}

export function Rows({ rows, class: name }: RowsProps) {
  return (
    <dl class={name}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

type ReceiptShown = { entry: ActivityEntry; name: string; timeZone: string; currency: Currency; proof: PaperProof }
type ReceiptProps = { language: Language; about: ServiceData; shown: ReceiptShown }

export function ReceiptPage({ language, about, shown }: ReceiptProps) {
  const { code, activity, paper: words } = language
  const transaction = toWidgetTransaction(shown.entry, shown.currency)
  const { app, description, type, amount, currency, createdAt, receiptCode, referenceId, card } = transaction
  const isIn = type === 'CREDIT'
  const isCard = app === null && transaction.referenceType.startsWith('TOPUP')
  const title = titleOf(transaction, sayIn(language))
  const refunded = card && card.refunded > 0 ? [[words.refunded, formatMoney(card.refunded, currency, code)]] : []
  return (
    <Sheet language={language} about={about} title={words.receipt} proof={shown.proof}>
      <p class="amount">{formatMoney(amount, currency, code)}</p>
      <p class="what">
        <bdi>{title}</bdi>
      </p>
      <Rows
        rows={[
          [words.receiptCode, <b dir="ltr">{receiptCode}</b>],
          [activity.when, exactTime(new Date(createdAt), code, shown.timeZone)],
          [activity[isIn ? 'from' : 'to'], isCard ? activity.yourCard : <bdi>{app?.name ?? about.name}</bdi>],
          [words.holder, <bdi>{shown.name}</bdi>],
          ...(app && description && description !== title ? [[activity.description, description] as const] : []),
          ...(app ? [[fill(activity.theirReference, { app: app.name }, code), <bdi>{referenceId}</bdi>] as const] : []),
          ...(refunded as [string, string][]),
        ]}
      />
      <ProofSection language={language} proof={shown.proof} hasQr />
    </Sheet>
  )
}
