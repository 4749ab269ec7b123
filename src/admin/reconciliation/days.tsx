/** The state of a reconciled day. */
import type { DayTotals } from '../../store/books/day-totals.ts'
import { Badge } from '../kit/parts.tsx'

export function dayState({ openDifferences, finishedAt, problem }: DayTotals): string {
  if (openDifferences > 0) return 'differs'
  if (finishedAt) return 'agrees'
  return problem ? 'not read' : 'waiting'
}

const kinds: Readonly<Record<string, 'good' | 'warn' | 'bad' | ''>> = {
  differs: 'bad',
  agrees: 'good',
  'not read': 'warn',
}

export function DayBadge({ day }: { day: DayTotals }) {
  const state = dayState(day)
  const text =
    state === 'differs'
      ? `${day.openDifferences} differ`
      : state === 'agrees' && day.source === 'file'
        ? 'agrees (file)'
        : state
  return <Badge kind={kinds[state] ?? ''}>{text}</Badge>
}
