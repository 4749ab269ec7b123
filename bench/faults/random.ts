/** Random choices from a printed seed, so that a run can be repeated: the same faults in the same order. */
export type Random = {
  readonly next: () => number
  readonly between: (least: number, most: number) => number
  readonly pick: <T>(items: readonly T[]) => T
}

/** mulberry32: 32 bits of state, enough for random choices. */
export function openRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return { next, between, pick: (items) => items[between(0, items.length - 1)]! }
}
