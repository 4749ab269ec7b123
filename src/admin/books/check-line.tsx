/** One line of a list of checks, with its colour. */
import type { ComponentChildren } from 'preact'
import type { BooksHealth } from '../../actions/money/check-books.ts'
import { Icon, type IconName } from '../kit/icons.tsx'

const lineStyles: Record<BooksHealth | 'note', { kind: string; icon: IconName }> = {
  wrong: { kind: 'check bad', icon: 'cross' },
  late: { kind: 'check warn', icon: 'warn' },
  right: { kind: 'check good', icon: 'check' },
  first: { kind: 'check', icon: 'dash' },
  note: { kind: 'check', icon: 'dash' },
}

export function Line({
  kind,
  title,
  children,
}: {
  kind: keyof typeof lineStyles
  title: ComponentChildren
  children: ComponentChildren
}) {
  return (
    <div class={lineStyles[kind].kind} role={kind === 'wrong' ? 'alert' : undefined}>
      <Icon name={lineStyles[kind].icon} />
      <strong>{title}</strong>
      <p>{children}</p>
    </div>
  )
}
