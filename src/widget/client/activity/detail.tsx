/** One transaction with all its details, including the code to quote to support. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { EntryMark, titleOf } from './latest.tsx'
import { ReceiptForm } from '../paper-window.tsx'
import type { Load } from '../account/part-form.tsx'
import { call, type WidgetTransaction } from '../call.ts'
import { exactTime, formatMoney } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { Notice, Support, useIsMounted, ViewHead } from '../parts.tsx'
import { Fitted } from './fitted.tsx'

type EntryDetailProps = {
  sequence: number
  /** Entries that are loaded already. */
  among: readonly WidgetTransaction[]
  token: () => string | null
  onBack: () => void
}

/** The details of an entry, which is read first if it is not loaded, for example after a reload of the page. */
export function EntryDetail({ sequence, among, token, onBack }: EntryDetailProps) {
  const { say } = usePage<'activity'>()
  const isMounted = useIsMounted()
  const found = among.find((each) => each.sequence === sequence && !each.isPrivate)
  // Keeps an entry that newer ones push out of the wallet's last entries.
  const [load, setLoad] = useState<Load<WidgetTransaction>>(
    found ? { kind: 'there', value: found } : { kind: 'loading' },
  )

  async function read(): Promise<void> {
    type Page = { transactions: WidgetTransaction[] }
    const reply = await call<Page>('activity', token(), undefined, { before: String(sequence + 1) })
    if (!isMounted()) return
    if (reply.failure) return setLoad({ kind: 'failed' })
    const [value] = reply.body.transactions
    if (value?.sequence === sequence) setLoad({ kind: 'there', value })
    else onBack()
  }
  useEffect(() => {
    if (load.kind === 'loading') void read()
  }, [])

  const entry = found ?? (load.kind === 'there' ? load.value : undefined)
  if (entry) return <Detail transaction={entry} onBack={onBack} />
  return (
    <section class="account detail">
      <ViewHead title={say('detail')} onBack={onBack} />
      <div class="card stack">
        <div role="alert">
          {load.kind === 'failed' && (
            <Notice tone="bad" icon="alert">
              {say('notReached')}
            </Notice>
          )}
        </div>
        {load.kind === 'failed' ? (
          <button type="button" class="button quiet" onClick={() => void read()}>
            {say('retry')}
          </button>
        ) : (
          <span class="skeleton line" />
        )}
      </div>
    </section>
  )
}

type DetailProps = { transaction: WidgetTransaction; onBack: () => void }

function Detail({ transaction, onBack }: DetailProps) {
  const { lang, say, service } = usePage<'activity'>()
  const { amount, currency, app, description, referenceId, balanceAfter, createdAt, receiptCode } = transaction
  const isIn = transaction.type === 'CREDIT'
  const isCard = app === null && transaction.referenceType.startsWith('TOPUP')
  const title = titleOf(transaction, say)
  return (
    <section class="account detail">
      <ViewHead title={say('detail')} onBack={onBack} />
      <div class="card stack">
        <div class="detail-head">
          <EntryMark transaction={transaction} />
          <p class={isIn ? 'amount in' : 'amount'}>
            <Fitted text={formatMoney(isIn ? amount : -amount, currency, lang, true)} />
          </p>
          <h2 class="entry-title" title={title} dir="auto">
            {title}
          </h2>
        </div>
        <dl class="facts">
          <Fact name={say(isIn ? 'from' : 'to')}>
            {isCard ? say('yourCard') : <bdi>{app?.name ?? service.name}</bdi>}
          </Fact>
          <Fact name={say('when')}>
            <time dateTime={createdAt}>{exactTime(new Date(createdAt), lang)}</time>
          </Fact>
          <Fact name={say('status')}>
            <Status transaction={transaction} />
          </Fact>
          {app && description && (
            <Fact name={say('description')} isLong>
              <bdi>{description}</bdi>
            </Fact>
          )}
          <Fact name={say('quote')}>
            <bdi class="code" dir="ltr">
              {receiptCode}
            </bdi>
          </Fact>
          {app && (
            <Fact name={say('theirReference', { app: app.name })}>
              <bdi>{referenceId}</bdi>
            </Fact>
          )}
          <Fact name={say('balanceAfter')}>
            <Fitted text={formatMoney(balanceAfter, currency, lang)} />
          </Fact>
        </dl>
        <div class="row">
          <ReceiptForm sequence={transaction.sequence} />
          {service.support && <Support />}
        </div>
      </div>
    </section>
  )
}

function Fact({ name, isLong = false, children }: { name: string; isLong?: boolean; children: ComponentChildren }) {
  return (
    <div class={isLong ? 'long' : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** The status of the transaction, including later refunds and disputes of its card payment. */
function Status({ transaction: { card, amount, currency } }: { transaction: WidgetTransaction }) {
  const { lang, say } = usePage<'activity'>()
  const money = (value: number) => formatMoney(value, currency, lang)
  if (card?.dispute === 'open') return <Badge tone="warn" text={say('statusDisputed')} />
  if (card?.dispute === 'lost') return <Badge tone="bad" text={say('statusLost')} />
  if (card?.dispute === 'won') return <Badge tone="good" text={say('statusWon')} />
  if (card && card.refunded > 0) {
    const isWhole = card.refunded >= amount
    return (
      <Badge tone="warn" text={isWhole ? say('statusRefunded') : say('statusPart', { amount: money(card.refunded) })} />
    )
  }
  return <Badge tone="good" text={say('statusDone')} />
}

function Badge({ tone, text }: { tone: 'good' | 'warn' | 'bad'; text: string }) {
  return <span class={`badge ${tone}`}>{text}</span>
}
