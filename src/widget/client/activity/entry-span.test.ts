import { expect, test } from 'bun:test'
import { joinSpans, type Span } from './entry-span.ts'

type Entry = { readonly sequence: number }
type Page = Span<Entry>

/** Mulberry32: the same numbers for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const isMatch = ({ sequence }: Entry, filter: number) => sequence % filter === 0

/** The ledger as the service reads it: a page of matching entries, from a bounded number of entries. */
function readPage(size: number, filter: number, before: number | null, { limit = 5, scanned = 12 } = {}): Page {
  const from = (before ?? size + 1) - 1
  const entries: Entry[] = []
  let sequence = from
  for (; sequence > Math.max(0, from - scanned) && entries.length < limit; sequence--)
    if (isMatch({ sequence }, filter)) entries.push({ sequence })
  return { entries, nextBefore: sequence === 0 ? null : sequence + 1, top: from }
}

function everything(size: number, filter: number): Entry[] {
  return Array.from({ length: size }, (_, at) => ({ sequence: size - at })).filter((entry) => isMatch(entry, filter))
}

test('pages and live updates in any order give the list that one read of everything gives', () => {
  let joined = 0
  let gaps = 0
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomFrom(seed)
    const filter = 1 + random(3)
    let size = random(40)
    let held = readPage(size, filter, null)
    /** Answers that are on their way; they arrive in any order. */
    const pending: Page[] = []
    for (let step = 0; step < 40; step++) {
      const act = random(5)
      if (act === 0) size += random(9)
      else if (act === 1) pending.push(readPage(size, filter, null))
      else if (act === 2 && held.nextBefore !== null) pending.push(readPage(size, filter, held.nextBefore))
      else if (pending.length > 0) {
        const [page] = pending.splice(random(pending.length), 1)
        const next = joinSpans(held, page!)
        if (next) joined++
        else gaps++
        held = next ?? held
      }
      const covered = everything(size, filter).filter(
        ({ sequence }) => sequence >= (held.nextBefore ?? 0) && sequence <= held.top,
      )
      expect(held.entries).toEqual(covered)
    }
    // Close the gap to the newest entry from the top, and read on to the oldest.
    let newest = readPage(size, filter, null)
    while (!joinSpans(held, newest)) newest = joinSpans(newest, readPage(size, filter, newest.nextBefore))!
    held = joinSpans(held, newest)!
    while (held.nextBefore !== null) held = joinSpans(held, readPage(size, filter, held.nextBefore))!
    expect(held.entries).toEqual(everything(size, filter))
  }
  // Both outcomes occurred often.
  expect(Math.min(joined, gaps)).toBeGreaterThan(200)
})

test('a page that was read later decides about its own entries', () => {
  const held = { entries: [{ sequence: 2, state: 'old' }], nextBefore: null, top: 2 }
  const page = {
    entries: [
      { sequence: 3, state: 'new' },
      { sequence: 2, state: 'new' },
    ],
    nextBefore: 2,
    top: 3,
  }
  expect(joinSpans(held, page)!.entries.map(({ state }) => state)).toEqual(['new', 'new'])
})
