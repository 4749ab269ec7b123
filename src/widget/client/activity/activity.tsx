/** The full transaction history: searched, filtered, grouped by month; and the detail of one entry. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Days, useNow } from './latest.tsx'
import { Detail } from './detail.tsx'
import { Filters } from './entry-filters.tsx'
import { useActivity } from './entry-pages.ts'
import { StatementForm } from '../paper-window.tsx'
import type { WidgetTransaction } from '../call.ts'
import { monthName } from '../format.ts'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { Notice, ViewHead } from '../parts.tsx'

export type ActivityViewProps = {
  token: () => string | null
  /** Changes with the wallet; a change reloads the first page. */
  version: number
  skewMs: number
  /** The entry to show first; its Back button leads to the wallet. */
  entry: WidgetTransaction | undefined
  onBack: () => void
}

export function View({ token, version, skewMs, entry, onBack }: ActivityViewProps) {
  if (entry) return <Detail transaction={entry} onBack={onBack} />
  return <Browse token={token} version={version} skewMs={skewMs} onBack={onBack} />
}

type BrowseProps = Omit<ActivityViewProps, 'entry'>

function Browse({ token, version, skewMs, onBack }: BrowseProps) {
  const { say } = usePage<'activity'>()
  const activity = useActivity(token, version)
  const now = useNow(skewMs)
  const [opened, setOpened] = useState<WidgetTransaction>()
  const last = useRef<number>(undefined)
  useEffect(() => {
    if (opened) last.current = opened.sequence
    else if (last.current !== undefined) document.getElementById(`entry-${last.current}`)?.focus()
  }, [opened])

  // The detail replaces the list only on screen; the list keeps its state.
  if (opened) return <Detail transaction={opened} onBack={() => setOpened(undefined)} />
  const { load, transactions } = activity
  return (
    <section class="account browse">
      <ViewHead title={say('activityTitle')} onBack={onBack} />
      <Filters filter={activity.filter} apps={activity.apps} onChange={activity.setFilter} />
      {activity.firstAt && <StatementForm firstAt={activity.firstAt} now={now} />}
      <Months transactions={transactions} now={now} onOpen={setOpened} />
      <p class="visually-hidden" role="status">
        {load === 'there' && say('shown', { count: String(transactions.length) })}
      </p>
      {load === 'there' && transactions.length === 0 && (
        <div class="card empty">
          <span class="panel-icon">
            <Icon name="receipt" />
          </span>
          <h2>{say('nothingTitle')}</h2>
          <p class="muted">{say(activity.nextBefore === null ? 'nothingText' : 'nothingYet')}</p>
        </div>
      )}
      {load === 'loading' && (
        <div class="card stack" aria-hidden="true">
          {[0, 1, 2].map((row) => (
            <span key={row} class="skeleton line" />
          ))}
        </div>
      )}
      <div role="alert">
        {load === 'failed' && (
          <Notice tone="bad" icon="alert">
            {say('notReached')}
          </Notice>
        )}
      </div>
      {load === 'failed' && (
        <button type="button" class="button quiet" onClick={activity.more}>
          {say('retry')}
        </button>
      )}
      {load === 'there' && activity.nextBefore !== null && (
        <button type="button" class="button quiet" onClick={activity.more}>
          {say(activity.isSpanEnd ? 'further' : 'older')}
        </button>
      )}
    </section>
  )
}

type MonthsProps = {
  transactions: readonly WidgetTransaction[]
  now: Date
  onOpen: (transaction: WidgetTransaction) => void
}

function Months({ transactions, now, onOpen }: MonthsProps) {
  const { lang } = usePage()
  const months = Map.groupBy(transactions, ({ createdAt }) => monthName(new Date(createdAt), lang))
  return (
    <>
      {[...months].map(([name, entries]) => (
        <section class="activity card" key={name} aria-label={name}>
          <h2>{name}</h2>
          <Days transactions={entries} now={now} onOpen={onOpen} />
        </section>
      ))}
    </>
  )
}
