/** Tells the parent how high the content is, and never argues with it. */

/** Report the height, leave it, or leave it and look again later. */
export type Verdict = 'report' | 'leave' | { readonly lookAgainMs: number }

const quickMs = 1000
const maxHolds = 5

/**
 * Which heights to report. A parent that follows our height can change our width (a scroll bar comes or goes), which changes
 * our height again, and so on for ever. Two heights that keep following each other within a second are such a loop: the
 * higher one wins, and the lower one has to wait; each time the loop is back, twice as long, and in the end for good.
 */
export function createHeightFilter(): (height: number, nowMs: number) => Verdict {
  let current = -1
  let before = -1
  let changedAt = Number.NEGATIVE_INFINITY
  let returns = 0
  let holds = 0
  return (height, nowMs) => {
    if (height === current) return 'leave'
    const isQuick = nowMs - changedAt < quickMs
    if (isQuick && height === before) returns++
    else if (!isQuick) returns = 0
    const isLowerOfLoop = height === before && height < current
    if (isLowerOfLoop && holds === maxHolds) return 'leave'
    if (isLowerOfLoop && returns >= 2) return { lookAgainMs: quickMs * 2 ** holds++ }
    before = current
    current = height
    changedAt = nowMs
    return 'report'
  }
}

/** `content` must not depend on the height of the frame. */
export function reportHeight(content: Element, report: (height: number) => void): void {
  const judge = createHeightFilter()
  let timer: ReturnType<typeof setTimeout>
  const measure = () => {
    const height = Math.ceil(content.getBoundingClientRect().height)
    const verdict = judge(height, performance.now())
    if (verdict === 'report') report(height)
    if (typeof verdict !== 'object') return
    clearTimeout(timer)
    timer = setTimeout(measure, verdict.lookAgainMs)
  }
  new ResizeObserver(measure).observe(content)
  measure()
}
