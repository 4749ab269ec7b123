/** The month at a glance: its sums. Above the list it has buttons to earlier and later months. */
import { useMemo, useState } from 'preact/hooks'
import { monthName } from '../format.ts'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { useNow } from './latest.tsx'
import { Progress } from './search-progress.tsx'
import { SumsCard } from './sums.tsx'
import { useSums } from './use-sums.ts'

type MonthGlanceProps = { token: () => string | null; version: number; now: Date; firstAt: string | null }

export type ThisMonthProps = Pick<MonthGlanceProps, 'token' | 'version'> & { skewMs: number }

/** Beside the latest entries, in a wide frame. It shows complete sums, or nothing if they could not be read. */
export function ThisMonth({ token, version, skewMs }: ThisMonthProps) {
  const { lang, say } = usePage<'activity'>()
  const { from, query } = useMonth(useNow(skewMs), 0)
  const { sums, load } = useSums(token, version, query)
  if (load === 'failed') return null
  return (
    <SumsCard title={monthName(from, lang)} sums={load === 'there' ? sums : undefined} emptyText={say('monthEmpty')} />
  )
}

function useMonth(now: Date, ago: number) {
  const [from, until] = [0, 1].map((after) => new Date(now.getFullYear(), now.getMonth() - ago + after, 1)) as [
    Date,
    Date,
  ]
  const query = useMemo(() => ({ from: from.toISOString(), until: until.toISOString() }), [from.getTime()])
  return { from, query }
}

export function MonthGlance({ token, version, now, firstAt }: MonthGlanceProps) {
  const { lang, say } = usePage<'activity'>()
  const [ago, setAgo] = useState(0)
  const { from, query } = useMonth(now, ago)
  const { sums, load, more, stop } = useSums(token, version, query)
  const hasEarlier = firstAt !== null && new Date(firstAt) < from
  return (
    <SumsCard
      title={monthName(from, lang)}
      sums={sums}
      emptyText={say('monthEmpty')}
      head={
        <span class="sums-steps">
          <button
            type="button"
            class="round"
            aria-label={say('earlierMonth')}
            disabled={!hasEarlier}
            onClick={() => setAgo(ago + 1)}
          >
            <Icon name="back" />
          </button>
          <button
            type="button"
            class="round later"
            aria-label={say('laterMonth')}
            disabled={ago === 0}
            onClick={() => setAgo(ago - 1)}
          >
            <Icon name="back" />
          </button>
        </span>
      }
    >
      <Progress load={load} sums={sums} left={sums?.left ?? 0} onStop={stop} onMore={more} />
    </SumsCard>
  )
}
