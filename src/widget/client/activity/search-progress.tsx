/** How far a search has come, with a button that stops it or goes on. */
import { usePage } from '../page-context.tsx'
import { Notice } from '../parts.tsx'
import type { Sums, SumsLoad } from './use-sums.ts'

type ProgressProps = {
  load: SumsLoad
  sums: Sums | undefined
  /** How many entries were not searched yet. */
  left: number
  onStop: () => void
  onMore: () => void
}

export function Progress({ load, sums, left, onStop, onMore }: ProgressProps) {
  const { lang, say } = usePage<'activity'>()
  if (load === 'failed')
    return (
      <div class="progress">
        <div role="alert">
          <Notice tone="bad" icon="alert">
            {say('notReached')}
          </Notice>
        </div>
        <button type="button" class="button quiet small" onClick={onMore}>
          {say('retry')}
        </button>
      </div>
    )
  if (!sums || left === 0) return null
  const total = sums.searched + sums.left
  const number = new Intl.NumberFormat(lang)
  const text = say('searching', { done: number.format(total - left), total: number.format(total) })
  return (
    <div class="progress">
      <progress max={total} value={total - left} aria-label={text} />
      <span class="muted">{text}</span>
      <button type="button" class="button quiet small" onClick={load === 'loading' ? onStop : onMore}>
        {say(load === 'loading' ? 'stopSearch' : 'further')}
      </button>
    </div>
  )
}
