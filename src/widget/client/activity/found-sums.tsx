/** The sums of what a search found, how far it has come, and the paper of what it found. */
import { Icon } from '../icons.tsx'
import { PaperForm } from '../paper-window.tsx'
import { usePage } from '../page-context.tsx'
import { typingMs } from './entry-pages.ts'
import type { ParsedSearch } from './parse-search.ts'
import { Progress } from './search-progress.tsx'
import { SumsCard, useTotal } from './sums.tsx'
import { useSums, type SumsLoad } from './use-sums.ts'

type FoundSumsProps = {
  token: () => string | null
  version: number
  query: Readonly<Record<string, string>>
  parsed: ParsedSearch
  /** The list of the same search. */
  list: {
    readonly load: SumsLoad
    readonly transactions: readonly unknown[]
    readonly left: number
    readonly stop: () => void
    readonly more: () => void
  }
}

export function FoundSums({ token, version, query, parsed, list }: FoundSumsProps) {
  const { lang, say } = usePage<'activity'>()
  const { sums, load, more, stop } = useSums(token, version, query, typingMs)
  const { totalOf } = useTotal()
  const found = (sums?.sources ?? []).reduce((sum, each) => sum + each.count, 0)
  const count = sums ? new Intl.NumberFormat(lang).format(found) : '…'
  const isListSearching = list.load === 'loading' || list.load === 'stopped'
  const left = Math.max(sums?.left ?? 0, isListSearching ? list.left : 0)
  // A search for a month alone finds its whole statement, which has balances too.
  const month = Object.keys(query).every((key) => key === 'from' || key === 'until') ? monthOf(parsed) : undefined
  const fields = month ? { kind: 'statement', month: month.value } : { kind: 'selection', ...query }
  const label = month ? say('monthStatement', { month: month.label }) : say('foundPaper')
  const status = (
    <p class="visually-hidden" role="status">
      {sums &&
        load === 'there' &&
        say('foundSums', { count, out: totalOf(sums, 'outMinor'), in: totalOf(sums, 'inMinor') })}
    </p>
  )
  // The list says that nothing was found; it may know that before the sums do.
  const isNothingListed = list.load === 'there' && list.transactions.length === 0
  if (isNothingListed || (load === 'there' && found === 0 && left === 0)) return status
  return (
    <SumsCard title={say('found', { count })} sums={sums}>
      {status}
      <Progress
        load={load === 'there' && list.load !== 'failed' ? list.load : load}
        sums={sums}
        left={left}
        onStop={() => {
          if (load === 'loading') stop()
          if (list.load === 'loading') list.stop()
        }}
        onMore={() => {
          if (load !== 'there') more()
          if (list.load === 'stopped') list.more()
        }}
      />
      {found > 0 && load !== 'loading' && (
        <PaperForm key={JSON.stringify(fields)} fields={fields} needs="person" label={label}>
          <button type="submit" class="button quiet small">
            <Icon name="receipt" />
            {label}
          </button>
        </PaperForm>
      )}
    </SumsCard>
  )
}

/** The month of the search, if it names one. */
function monthOf({ meanings }: ParsedSearch): { value: string; label: string } | undefined {
  const time = meanings.find((meaning) => meaning.kind === 'time')
  if (!time) return undefined
  const { from, until, label } = time
  const isMonth = until.getTime() === new Date(from.getFullYear(), from.getMonth() + 1, 1).getTime()
  return isMonth ? { value: `${from.getFullYear()}-${String(from.getMonth() + 1).padStart(2, '0')}`, label } : undefined
}
