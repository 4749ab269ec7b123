/**
 * A queue for each app. Batches take from every waiting app in turn, so an app that has thousands waiting delays another
 * app by its share of one batch. The order within an app is kept.
 */
export type FairQueue<T> = {
  size: number
  /** Only apps that have something waiting; the first one is served first. */
  readonly lines: Map<string, Line<T>>
}

/** Items before `head` have been taken. */
type Line<T> = { items: T[]; head: number }

/** What becomes of an item that a batch is offered. Only `taken` uses a place of the batch. */
export type Offer = 'taken' | 'moved' | 'stays'

export function newFairQueue<T>(): FairQueue<T> {
  return { size: 0, lines: new Map() }
}

export function enqueue<T>(queue: FairQueue<T>, app: string, item: T): void {
  queue.size++
  const line = queue.lines.get(app)
  if (line) line.items.push(item)
  else queue.lines.set(app, { items: [item], head: 0 })
}

/** Puts items back at the front of their app's line, in their order. */
export function putBack<T>(queue: FairQueue<T>, items: readonly T[], appOf: (item: T) => string): void {
  queue.size += items.length
  for (const [app, mine] of Map.groupBy(items, appOf)) {
    const line = queue.lines.get(app)
    if (line) setItems(line, [...mine, ...line.items.slice(line.head)])
    else queue.lines.set(app, { items: [...mine], head: 0 })
  }
}

/** How many items of the app wait, and the number of apps that would share a batch with it. */
export function standingOf<T>(
  { lines }: FairQueue<T>,
  app: string,
): { readonly waiting: number; readonly apps: number } {
  const line = lines.get(app)
  return line ? { waiting: line.items.length - line.head, apps: lines.size } : { waiting: 0, apps: lines.size + 1 }
}

/**
 * With a full queue an app is refused only above its share of the places, so that one app cannot use them up. The total
 * stays below twice the limit.
 */
export function isFull<T>(queue: FairQueue<T>, app: string, limit: number): boolean {
  if (queue.size < limit) return false
  const { waiting, apps } = standingOf(queue, app)
  return waiting >= limit / apps
}

/**
 * Offers items to a batch of that many places: each app its share of them, then the rest to the apps that have more, up to
 * `mostPerApp`.
 */
export function takeInTurn<T>(
  queue: FairQueue<T>,
  places: number,
  offer: (item: T) => Offer,
  mostPerApp = places,
): void {
  let free = places
  let left = mostPerApp
  let waiting: Iterable<readonly [string, Line<T>]> = queue.lines
  let count = queue.lines.size
  while (free > 0 && count > 0 && left > 0) {
    const share = Math.min(left, Math.max(1, Math.floor(free / count)))
    // Every app that is offered a further round has taken its whole share of each round before.
    left -= share
    const served: string[] = []
    const more: [string, Line<T>][] = []
    for (const [app, line] of waiting) {
      const taken = takeFrom(queue, line, Math.min(share, free), offer)
      free -= taken
      served.push(app)
      if (taken === share && line.head < line.items.length) more.push([app, line])
      if (free === 0) break
    }
    rotate(queue, served)
    waiting = more
    count = more.length
  }
}

/** Served apps go behind those that the batch had no place for. */
function rotate<T>({ lines }: FairQueue<T>, served: readonly string[]): void {
  for (const app of served) {
    const line = lines.get(app)!
    lines.delete(app)
    if (line.head < line.items.length) lines.set(app, line)
  }
}

function takeFrom<T>(queue: FairQueue<T>, line: Line<T>, places: number, offer: (item: T) => Offer): number {
  const { items } = line
  const staying: T[] = []
  let taken = 0
  let next = line.head
  while (next < items.length && taken < places) {
    const item = items[next++]!
    const became = offer(item)
    if (became === 'stays') staying.push(item)
    else queue.size--
    if (became === 'taken') taken++
  }
  if (staying.length > 0) setItems(line, [...staying, ...items.slice(next)])
  else if (next > 1_024 && next * 2 > items.length) setItems(line, items.slice(next))
  else line.head = next
  return taken
}

function setItems<T>(line: Line<T>, items: T[]): void {
  line.items = items
  line.head = 0
}

export function* itemsOf<T>({ lines }: FairQueue<T>): Generator<T> {
  for (const { items, head } of lines.values()) for (let i = head; i < items.length; i++) yield items[i]!
}

export function removeItems<T>(queue: FairQueue<T>, isRemoved: (item: T) => boolean): void {
  for (const [app, line] of queue.lines) {
    const waiting = line.items.slice(line.head)
    const left = waiting.filter((item) => !isRemoved(item))
    queue.size -= waiting.length - left.length
    setItems(line, left)
    if (left.length === 0) queue.lines.delete(app)
  }
}
