/** Pages of a list that grows at its newer end, joined by sequence. Pure. */

/** All entries with a sequence from `nextBefore` (null: from the first one) to `top`, newest first. */
export type Span<Entry extends { readonly sequence: number }> = {
  readonly entries: readonly Entry[]
  /** The cursor of the next older page; null if there is none. */
  readonly nextBefore: number | null
  readonly top: number
}

/**
 * Adds a page that was read later. The page decides about its own sequences, because the state of an entry may have changed.
 * Undefined if entries between the two are missing.
 */
export function joinSpans<Entry extends { readonly sequence: number }>(
  held: Span<Entry>,
  page: Span<Entry>,
): Span<Entry> | undefined {
  const [heldFrom, pageFrom] = [held.nextBefore ?? 0, page.nextBefore ?? 0]
  if (pageFrom > held.top + 1 || heldFrom > page.top + 1) return undefined
  const newer = held.entries.filter(({ sequence }) => sequence > page.top)
  const older = held.entries.filter(({ sequence }) => sequence < pageFrom)
  return {
    entries: [...newer, ...page.entries, ...older],
    nextBefore: heldFrom < pageFrom ? held.nextBefore : page.nextBefore,
    top: Math.max(held.top, page.top),
  }
}
