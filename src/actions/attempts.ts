/** Counts failures per key and says when a key has had too many; forgets by itself. Per process, in bounded memory. */
export type Attempts = {
  /** Notes a failure; the seconds to wait when that was one too many. */
  readonly fail: (key: string, now: Date) => number | undefined
  /** The seconds to wait, without noting anything. */
  readonly waitOf: (key: string, now: Date) => number | undefined
  readonly clear: (key: string) => void
}

const maxKeys = 20_000

export function openAttempts({ limit, windowMs }: { limit: number; windowMs: number }): Attempts {
  const windows = new Map<string, { count: number; endsAt: number }>()

  function waitOf(key: string, now: Date): number | undefined {
    const window = windows.get(key)
    if (!window || window.endsAt <= now.getTime() || window.count <= limit) return undefined
    return Math.ceil((window.endsAt - now.getTime()) / 1000)
  }

  return {
    waitOf,
    fail: (key, now) => {
      const window = windows.get(key)
      if (window && window.endsAt > now.getTime()) window.count++
      else {
        windows.delete(key)
        // The oldest key goes first: a flood of new keys costs the attacker's own history, not memory.
        if (windows.size >= maxKeys) windows.delete(windows.keys().next().value!)
        windows.set(key, { count: 1, endsAt: now.getTime() + windowMs })
      }
      return waitOf(key, now)
    },
    clear: (key) => void windows.delete(key),
  }
}
