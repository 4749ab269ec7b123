/**
 * Open widgets, kept up to date without a cost to the money path: NOTIFY would take a lock on the whole database at each
 * commit.
 *
 * What this process changes it knows by itself: a poke, and that wallet is looked at within 50 ms. What others change is
 * found by asking, about twice a second: did anything commit at all, and if so, which of these wallets are not as they were
 * seen last? Only those are looked at. With 10,000 streams that costs the database a lookup by key for each wallet, instead
 * of five joined tables; `bench/README.md` has the figures. What ends a session without moving its wallet (somebody signs
 * out on another process) is found by a look at some of the sessions each time, all of them in turn: at once up to 500
 * streams, within ten seconds with 10,000. Calls with such a session are refused from the first moment in any case.
 */
import type { Session } from '../store/people/widget-sessions.ts'
import type { SeenWallet } from '../store/wallets.ts'

export type Watcher = {
  readonly session: Session
  /** The session as it is now; undefined when it is gone. Called after each look at it, changed or not. */
  readonly onCheck: (session: Session | undefined) => void
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

/** What it asks the database. */
export type LiveQueries = {
  /** The same text as before when nothing was committed since. */
  readonly getSnapshot: () => Promise<string>
  readonly findChangedWallets: (seen: readonly SeenWallet[]) => Promise<readonly string[]>
  readonly findSessions: (tokenHashes: readonly Buffer[]) => Promise<Session[]>
}

/** A wallet that somebody watches: its sessions, and what was seen of it last. */
type Watched = {
  readonly walletId: string
  readonly sessions: Map<string, Set<Watcher>>
  sequence: number
  frozenFor: Session['frozenFor']
}

const maxWatchers = 20_000
/** A page that reconnects may leave a dead connection or two behind for a while. */
const maxPerSession = 6

const pollMs = 400
/** The more there are, the longer the pause, but a change is seen within a second. */
const pollMsEach = 0.01
const maxPollMs = 600
/** A busy wallet pokes thousands of times a second; eyes need no more than this, and many busy wallets get less. */
const dueMs = 50
const dueMsEach = 0.2
/** Sessions that are looked at with each poll, whether or not their wallet has changed. */
const inTurn = 500
/** Of one question, so that none takes long. */
const chunk = 1_000

export function openLive(questions: LiveQueries, fault: (error: unknown) => void): Live {
  const wallets = new Map<string, Watched>()
  /** Those to look at next. */
  const due = new Set<string>()
  let total = 0
  let isClosed = false
  let isLooking = false
  let isPolling = false
  let lookTimer: ReturnType<typeof setTimeout> | undefined
  let pollTimer: ReturnType<typeof setTimeout> | undefined
  let restMs = dueMs
  let moment = ''
  /** Whose turn it is, and how many have not been looked at since the last commit anywhere. */
  let turns: Iterator<Watched> = wallets.values()
  let unseen = 0

  /** Beside a look that is under way, so that none waits for the question about all wallets. */
  async function poll(): Promise<void> {
    isPolling = true
    const nextAt = performance.now() + Math.min(maxPollMs, pollMs + wallets.size * pollMsEach)
    try {
      for (const walletId of await findDue()) due.add(walletId)
    } catch (error) {
      fault(error)
    }
    isPolling = false
    schedulePoll(nextAt)
    scheduleLook()
  }

  function schedulePoll(at: number): void {
    clearTimeout(pollTimer)
    if (total > 0 && !isPolling && !isClosed)
      pollTimer = setTimeout(() => void poll(), Math.max(0, at - performance.now()))
  }

  /** None when all was looked at since anything was committed. */
  async function findDue(): Promise<readonly string[]> {
    const now = await questions.getSnapshot()
    if (now === moment) return unseen > 0 ? nextInTurn() : []
    const changed = await questions.findChangedWallets([...wallets.values()])
    moment = now
    unseen = wallets.size
    return [...changed, ...nextInTurn()]
  }

  function nextInTurn(): string[] {
    const next: string[] = []
    for (let sessions = 0; sessions < inTurn;) {
      const { value, done } = turns.next()
      if (done) {
        // The next round begins with the next poll.
        turns = wallets.values()
        break
      }
      next.push(value.walletId)
      sessions += value.sessions.size
    }
    unseen -= next.length
    return next
  }

  async function look(): Promise<void> {
    lookTimer = undefined
    isLooking = true
    const walletIds = [...due]
    due.clear()
    restMs = Math.min(pollMs, Math.max(dueMs, walletIds.length * dueMsEach))
    try {
      for (let i = 0; i < walletIds.length; i += chunk) await lookAt(walletIds.slice(i, i + chunk))
    } catch (error) {
      // What was not seen is still unlike what was: the next poll finds it.
      moment = ''
      fault(error)
    }
    isLooking = false
    scheduleLook()
  }

  /** Soon: in a moment, or once more after the look under way, which may have begun too early. */
  function scheduleLook(): void {
    if (due.size > 0 && !isLooking && !isClosed) lookTimer ??= setTimeout(() => void look(), restMs)
  }

  async function lookAt(walletIds: readonly string[]): Promise<void> {
    const watched = walletIds.flatMap((id) => wallets.get(id) ?? [])
    const sets = watched.flatMap(({ sessions }) => [...sessions.values()])
    const hashes = sets.flatMap(([first]) => (first ? [first.session.tokenHash] : []))
    if (hashes.length === 0) return
    const found = new Map((await questions.findSessions(hashes)).map((session) => [keyOf(session), session]))
    for (const { userId, sequence, frozenFor } of found.values()) {
      const wallet = wallets.get(userId)
      if (wallet) Object.assign(wallet, { sequence, frozenFor })
    }
    for (const watchers of sets) for (const each of watchers) each.onCheck(found.get(keyOf(each.session)))
  }

  function add(walletId: string): void {
    due.add(walletId)
    scheduleLook()
  }

  function unwatch(watcher: Watcher): void {
    const key = keyOf(watcher.session)
    const wallet = wallets.get(watcher.session.userId)
    const here = wallet?.sessions.get(key)
    if (!here?.delete(watcher)) return
    if (here.size === 0) wallet!.sessions.delete(key)
    if (wallet!.sessions.size === 0) wallets.delete(wallet!.walletId)
    if (--total > 0) return
    clearTimeout(pollTimer)
    clearTimeout(lookTimer)
    lookTimer = undefined
    due.clear()
  }

  return {
    watch: (watcher) => {
      const { session } = watcher
      const { userId: walletId, sequence, frozenFor } = session
      const wallet = wallets.get(walletId) ?? { walletId, sessions: new Map(), sequence, frozenFor }
      const here = wallet.sessions.get(keyOf(session)) ?? new Set()
      if (isClosed || total >= maxWatchers || here.size >= maxPerSession) return undefined
      wallets.set(walletId, wallet)
      wallet.sessions.set(keyOf(session), here.add(watcher))
      if (++total === 1) schedulePoll(performance.now() + pollMs)
      // The state it was opened with may be older than a change that was made, and poked for, just before.
      add(walletId)
      return () => unwatch(watcher)
    },
    poke: (walletId) => {
      if (wallets.has(walletId)) add(walletId)
    },
    count: () => total,
    close: () => {
      isClosed = true
      for (const { sessions } of wallets.values())
        for (const watchers of sessions.values()) for (const each of watchers) each.end()
      clearTimeout(pollTimer)
      clearTimeout(lookTimer)
    },
  }
}

function keyOf({ tokenHash }: Session): string {
  return tokenHash.toString('base64')
}
