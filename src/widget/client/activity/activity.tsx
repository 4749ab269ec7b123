/** The full transaction history: searched, filtered, grouped by month; and the detail of one entry. */
import { useEffect, useRef } from 'preact/hooks'
import { Days, useNow } from './latest.tsx'
import { EntryDetail } from './detail.tsx'
import { Filters } from './entry-filters.tsx'
import { useActivity } from './entry-pages.ts'
import { FoundSums } from './found-sums.tsx'
import { MonthGlance, ThisMonth, type ThisMonthProps } from './month-glance.tsx'
import { StatementForm } from '../paper-window.tsx'
import { fillCount } from '../../../languages/words.ts'
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
  /** The wallet's last entries. */
  latest: readonly WidgetTransaction[]
  /** The entry whose details are open. */
  sequence: number | undefined
  /** The details were opened from the list, which keeps its state behind them. */
  isInList: boolean
  onOpen: (entry: WidgetTransaction) => void
  onBack: () => void
}

/** The month alone is shown beside the latest entries. */
export function View(props: ActivityViewProps | ThisMonthProps) {
  if (!('latest' in props)) return <ThisMonth {...props} />
  const { token, latest, sequence, isInList, onBack } = props
  if (sequence === undefined || isInList) return <Browse {...props} />
  return <EntryDetail key={sequence} sequence={sequence} among={latest} token={token} onBack={onBack} />
}

function Browse({ token, version, skewMs, latest, sequence, onOpen, onBack }: ActivityViewProps) {
  const { lang, say, words } = usePage<'activity'>()
  const now = useNow(skewMs)
  const activity = useActivity(token, version, now)
  const list = useRef<HTMLElement>(null)
  const last = useRef<number>(undefined)
  useEffect(() => {
    if (sequence !== undefined) last.current = sequence
    else if (last.current !== undefined)
      // After a reload the entry may not be loaded yet.
      (document.getElementById(`entry-${last.current}`) ?? list.current!.querySelector('h1'))?.focus()
  }, [sequence])

  const { load, transactions, query, parsed } = activity
  const isSearch = Object.keys(query).length > 0
  const hasArchived = load === 'there' && activity.hasArchived === true
  return (
    <>
      {sequence !== undefined && (
        <EntryDetail
          key={sequence}
          sequence={sequence}
          among={[...transactions, ...latest]}
          token={token}
          onBack={onBack}
        />
      )}
      {/* Hidden, not removed: the list keeps its search, its month and its scroll position. */}
      <section class="account browse" ref={list} hidden={sequence !== undefined}>
        <ViewHead title={say('activityTitle')} onBack={onBack} />
        <div class="browse-side">
          <Filters filter={activity.filter} parsed={parsed} apps={activity.apps} onChange={activity.setFilter} />
          {isSearch ? (
            <FoundSums token={token} version={version} query={query} parsed={parsed} list={activity} />
          ) : (
            <MonthGlance token={token} version={version} now={now} firstAt={activity.firstAt} />
          )}
          {activity.firstAt && <StatementForm firstAt={activity.firstAt} now={now} />}
        </div>
        <div class="browse-list">
          <Months transactions={transactions} now={now} onOpen={onOpen} />
          <p class="visually-hidden" role="status">
            {load === 'there' && fillCount(words.shown, transactions.length, lang)}
          </p>
          {(load === 'there' || load === 'stopped') && transactions.length === 0 && (
            <div class="card empty">
              <span class="panel-icon">
                <Icon name="receipt" />
              </span>
              <h2>{say(load === 'there' ? 'nothingTitle' : 'notYetTitle')}</h2>
              <p class={`muted ${hasArchived ? 'archived' : ''}`}>
                {hasArchived ? words.archived : say(load === 'there' ? 'nothingText' : 'nothingYet')}
              </p>
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
          {hasArchived && transactions.length > 0 && <p class="muted archived">{words.archived}</p>}
          {load === 'there' && activity.nextBefore !== null && (
            <button type="button" class="button quiet" onClick={activity.more}>
              {say('older')}
            </button>
          )}
        </div>
      </section>
    </>
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
