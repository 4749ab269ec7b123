/** Counts attempts per key in fixed windows, per process and in bounded memory. */
export type Attempts = {
  /** Counts one attempt; returns how many exceed the limit in this window, and the rest of the window. */
  readonly count: (key: string, now: Date) => { readonly excess: number; readonly secondsLeft: number }
  /** The seconds to wait when the limit is reached. Does not count. */
  readonly waitOf: (key: string, now: Date) => number | undefined
}

const maxKeys = 20_000

export function openAttempts({ limit, windowMs }: { limit: number; windowMs: number }): Attempts {
  const windows = new Map<string, { count: number; endsAt: number }>()
  return {
    count: (key, now) => {
      let window = windows.get(key)
      if (!window || window.endsAt <= now.getTime()) {
        windows.delete(key)
        // Drop the oldest key, so that a flood of new keys does not use up memory.
        if (windows.size >= maxKeys) windows.delete(windows.keys().next().value!)
        windows.set(key, (window = { count: 0, endsAt: now.getTime() + windowMs }))
      }
      window.count++
      const secondsLeft = Math.max(1, Math.ceil((window.endsAt - now.getTime()) / 1000))
      return { excess: Math.max(0, window.count - limit), secondsLeft }
    },
    waitOf: (key, now) => {
      const window = windows.get(key)
      if (!window || window.count < limit || window.endsAt <= now.getTime()) return undefined
      return Math.ceil((window.endsAt - now.getTime()) / 1000)
    },
  }
}
