/** Tells the parent how high the content is, and never argues with it. */

/**
 * Which heights to report. A parent that follows our height can change our width (a scroll bar comes or goes), which changes
 * our height again, and so on for ever. A height that comes back within a second of leaving is such a loop: the
 * higher one of the two wins, and the lower one is not reported while it goes on.
 */
export function createHeightFilter(): (height: number, nowMs: number) => boolean {
  let current = -1
  let before = -1
  let changedAt = Number.NEGATIVE_INFINITY
  let heldUntil = Number.NEGATIVE_INFINITY
  return (height, nowMs) => {
    if (height === current) return false
    if (height < current && nowMs < heldUntil) return false
    const isBackAgain = height === before && nowMs - changedAt < 1000
    if (isBackAgain && height < current) {
      heldUntil = nowMs + 1000
      return false
    }
    if (isBackAgain) heldUntil = nowMs + 1000
    before = current
    current = height
    changedAt = nowMs
    return true
  }
}

/** `content` must not depend on the height of the frame. */
export function reportHeight(content: Element, report: (height: number) => void): void {
  const isNews = createHeightFilter()
  const measure = () => {
    const height = Math.ceil(content.getBoundingClientRect().height)
    if (isNews(height, performance.now())) report(height)
  }
  new ResizeObserver(measure).observe(content)
  measure()
}
