/** Shows the progress of a long command in one line of a terminal; does nothing without a terminal. */
import type { Io } from './command.ts'

export type Progress = {
  readonly show: (text: string, share?: number) => void
  /** Clears the line before other output. */
  readonly clear: () => void
}

const barWidth = 30
const everyMs = 100

export function openProgress({ errors }: Pick<Io, 'errors'>): Progress {
  if (!errors.isTTY) return { show: () => {}, clear: () => {} }
  let shownAt = 0
  return {
    show: (text, share) => {
      const now = performance.now()
      if (now - shownAt < everyMs && share !== 1) return
      shownAt = now
      errors.write(`\r\u001b[K${share === undefined ? '' : `${bar(share)} `}${text}`)
    },
    clear: () => void errors.write('\r\u001b[K'),
  }
}

function bar(share: number): string {
  const full = Math.round(Math.min(share, 1) * barWidth)
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${String(Math.floor(share * 100)).padStart(3)} %`
}
