/** Reports the height of the content to the parent, without oscillating between two heights. */

/** Report the height, ignore it, or ignore it now and measure again later. */
export type Verdict = 'report' | 'leave' | { readonly measureAgainMs: number }

const quickMs = 1000
const maxHolds = 5

/**
 * Decides which heights to report. A parent that follows our height can change our width (a scroll bar appears or disappears),
 * which changes our height again, and so on. Two heights that alternate within a second are such a loop: the higher one is
 * reported, and the lower one is held back, twice as long each time the loop returns, and finally for good.
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
    if (isLowerOfLoop && returns >= 2) return { measureAgainMs: quickMs * 2 ** holds++ }
    before = current
    current = height
    changedAt = nowMs
    return 'report'
  }
}

/** Requires that the height of `content` does not depend on the height of the frame. */
export function reportHeight(content: Element, report: (height: number) => void): void {
  const judge = createHeightFilter()
  let timer: ReturnType<typeof setTimeout>
  const measure = () => {
    const height = Math.ceil(content.getBoundingClientRect().height)
    const verdict = judge(height, performance.now())
    if (verdict === 'report') report(height)
    if (typeof verdict !== 'object') return
    clearTimeout(timer)
    timer = setTimeout(measure, verdict.measureAgainMs)
  }
  new ResizeObserver(measure).observe(content)
  measure()
}
