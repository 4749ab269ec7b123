/**
 * Open widgets, kept up to date. One query every 400 ms asks for the state of everything this process shows, and none
 * when nobody watches. NOTIFY would be quicker, but it takes a lock on the whole database at each commit: the money
 * path would pay for the display.
 */
import type { Session } from '../store/widget-sessions.ts'

export type Watcher = {
  readonly session: Session
  /** The session as it is now; undefined when it is gone. Called after each look, changed or not. */
  readonly look: (session: Session | undefined) => void
  /** The process is about to end. */
  readonly end: () => void
}

export type Live = {
  /** Undefined when there are too many already; else a function that stops watching. */
  readonly watch: (watcher: Watcher) => (() => void) | undefined
  /** This process has just changed that wallet: look now, rather than in a while. */
  readonly poke: (walletId: string) => void
  readonly count: () => number
  /** Ends every stream and takes no more. */
  readonly close: () => void
}

const everyMs = 400
/** A busy wallet pokes thousands of times a second; eyes need no more than this. */
const atLeastMs = 50
const maxWatchers = 2_000
/** A page that reconnects may leave a dead connection or two behind for a while. */
const maxPerSession = 6

export function openLive(
  findSessions: (tokenHashes: readonly Buffer[]) => Promise<Session[]>,
  fault: (error: unknown) => void,
): Live {
  const bySession = new Map<string, Set<Watcher>>()
  const byWallet = new Map<string, number>()
  let total = 0
  let isClosed = false
  let isLooking = false
  let isPoked = false
  let timer: ReturnType<typeof setTimeout> | undefined

  async function look(): Promise<void> {
    isLooking = true
    isPoked = false
    timer = undefined
    try {
      const watched = [...bySession.values()]
      const hashes = watched.flatMap(([first]) => (first ? [first.session.tokenHash] : []))
      const found = new Map((await findSessions(hashes)).map((session) => [keyOf(session), session]))
      for (const watchers of watched) for (const each of watchers) each.look(found.get(keyOf(each.session)))
    } catch (error) {
      fault(error)
    }
    isLooking = false
    if (total > 0) schedule(isPoked ? atLeastMs : everyMs)
    else isPoked = false
  }

  /** Look soon: now, or once more after the look under way, which may have begun too early. */
  function nudge(): void {
    if (isPoked) return
    isPoked = true
    if (!isLooking) schedule(atLeastMs)
  }

  function schedule(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => void look(), ms)
  }

  function unwatch(watcher: Watcher): void {
    const key = keyOf(watcher.session)
    const { userId } = watcher.session
    if (!bySession.get(key)?.delete(watcher)) return
    if (bySession.get(key)!.size === 0) bySession.delete(key)
    const left = byWallet.get(userId)! - 1
    if (left === 0) byWallet.delete(userId)
    else byWallet.set(userId, left)
    if (--total > 0 || isLooking) return
    clearTimeout(timer)
    isPoked = false
  }

  return {
    watch: (watcher) => {
      const key = keyOf(watcher.session)
      const here = bySession.get(key) ?? new Set()
      if (isClosed || total >= maxWatchers || here.size >= maxPerSession) return undefined
      bySession.set(key, here.add(watcher))
      byWallet.set(watcher.session.userId, (byWallet.get(watcher.session.userId) ?? 0) + 1)
      total++
      // The state it was opened with may be older than a change that was made, and poked for, just before.
      nudge()
      return () => unwatch(watcher)
    },
    poke: (walletId) => {
      if (byWallet.has(walletId)) nudge()
    },
    count: () => total,
    close: () => {
      isClosed = true
      for (const watchers of bySession.values()) for (const each of watchers) each.end()
      clearTimeout(timer)
    },
  }
}

function keyOf({ tokenHash }: Session): string {
  return tokenHash.toString('base64')
}
