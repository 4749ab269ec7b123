/** Counts what happens too often per key; forgets by itself. Per process, in bounded memory. */
export type Attempts = {
  /** Notes one more; how many beyond the limit that makes in this window, and how long the window lasts yet. */
  readonly count: (key: string, now: Date) => { readonly excess: number; readonly secondsLeft: number }
  /** The seconds to wait when the limit is reached, without noting anything. */
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
        // The oldest key goes first: a flood of new keys costs the attacker's own history, not memory.
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
