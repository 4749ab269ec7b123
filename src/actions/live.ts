/**
 * Open widgets, kept up to date without a cost to the money path: NOTIFY would take a lock on the whole database at each
 * commit.
 *
 * This process pokes the wallets it changes, and checks them within 50 ms. Changes by other processes are found by polling,
 * about twice a second: did anything commit, and if so, which of these wallets changed? Only those are checked. With
 * 10,000 streams that costs the database a lookup by key for each wallet, instead of five joined tables; `bench/README.md` has
 * the figures. A session that ends without a change of its wallet (a sign-out in another process) is found by rotation: each
 * poll checks some of the sessions, up to 500 streams all of them, 10,000 within ten seconds. Calls with such a session are
 * refused at once in any case.
 */
import type { Session } from '../store/people/widget-sessions.ts'
import type { SeenWallet } from '../store/wallets.ts'

export type Watcher = {
  readonly session: Session
  /** Called after each check with the current session, changed or not; undefined when the session does not exist any more. */
  readonly onCheck: (session: Session | undefined) => void
  /** The process is about to end. */
  readonly end: () => void
}

export type Live = {
  /** Returns a function that stops watching; undefined when there are too many watchers. */
  readonly watch: (watcher: Watcher) => (() => void) | undefined
  /** This process has just changed that wallet: check it now. */
  readonly poke: (walletId: string) => void
  readonly count: () => number
  /** Ends every stream and takes no more. */
  readonly close: () => void
}

export type LiveQueries = {
  /** Returns the same text as before if nothing was committed since. */
  readonly getSnapshot: () => Promise<string>
  readonly findChangedWallets: (seen: readonly SeenWallet[]) => Promise<readonly string[]>
  readonly findSessions: (tokenHashes: readonly Buffer[]) => Promise<Session[]>
}

/** A watched wallet: its sessions, and its last known state. */
type Watched = {
  readonly walletId: string
  readonly sessions: Map<string, Set<Watcher>>
  sequence: number
  heldMinor: bigint
  frozenFor: Session['frozenFor']
}

const maxWatchers = 20_000
/** A page that reconnects may leave some dead connections behind. */
const maxPerSession = 6

const pollMs = 400
/** The pause grows with the number of wallets, but a change is seen within a second. */
const pollMsEach = 0.01
const maxPollMs = 600
/** A busy wallet is poked thousands of times a second; one check per 50 ms is enough to watch, and many busy wallets get fewer. */
const dueMs = 50
const dueMsEach = 0.2
/** Sessions that each poll checks by rotation, whether or not their wallet changed. */
const sessionsPerPoll = 500
/** Wallets per query, so that neither the query nor its answer takes long. */
const chunk = 200

export function openLive(queries: LiveQueries, fault: (error: unknown) => void): Live {
  const wallets = new Map<string, Watched>()
  /** Wallets to check next. */
  const due = new Set<string>()
  let total = 0
  let isClosed = false
  let isChecking = false
  let isPolling = false
  let checkTimer: ReturnType<typeof setTimeout> | undefined
  let pollTimer: ReturnType<typeof setTimeout> | undefined
  let restMs = dueMs
  let snapshot = ''
  /** The position of the rotation, and how many wallets were not checked since the last commit anywhere. */
  let rotation: Iterator<Watched> = wallets.values()
  let unchecked = 0

  /** Runs beside a check in progress, so that no check waits for the query about all wallets. */
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
    scheduleCheck()
  }

  function schedulePoll(at: number): void {
    clearTimeout(pollTimer)
    if (total > 0 && !isPolling && !isClosed)
      pollTimer = setTimeout(() => void poll(), Math.max(0, at - performance.now()))
  }

  /** Empty when every wallet was checked since the last commit. */
  async function findDue(): Promise<readonly string[]> {
    const now = await queries.getSnapshot()
    if (now === snapshot) return unchecked > 0 ? nextInRotation() : []
    const changed = await queries.findChangedWallets([...wallets.values()])
    snapshot = now
    unchecked = wallets.size
    return [...changed, ...nextInRotation()]
  }

  function nextInRotation(): string[] {
    const next: string[] = []
    for (let sessions = 0; sessions < sessionsPerPoll;) {
      const { value, done } = rotation.next()
      if (done) {
        // The next round begins with the next poll.
        rotation = wallets.values()
        break
      }
      next.push(value.walletId)
      sessions += value.sessions.size
    }
    unchecked -= next.length
    return next
  }

  async function check(): Promise<void> {
    checkTimer = undefined
    isChecking = true
    const walletIds = [...due]
    due.clear()
    restMs = Math.min(pollMs, Math.max(dueMs, walletIds.length * dueMsEach))
    try {
      for (let i = 0; i < walletIds.length; i += chunk) await checkWallets(walletIds.slice(i, i + chunk))
    } catch (error) {
      // The known state of unchecked wallets is still old: make the next poll compare them again.
      snapshot = ''
      fault(error)
    }
    isChecking = false
    scheduleCheck()
  }

  /** A check in progress may have read too early, so another one follows it. */
  function scheduleCheck(): void {
    if (due.size > 0 && !isChecking && !isClosed) checkTimer ??= setTimeout(() => void check(), restMs)
  }

  async function checkWallets(walletIds: readonly string[]): Promise<void> {
    const watched = walletIds.flatMap((id) => wallets.get(id) ?? [])
    const sets = watched.flatMap(({ sessions }) => [...sessions.values()])
    const hashes = sets.flatMap(([first]) => (first ? [first.session.tokenHash] : []))
    if (hashes.length === 0) return
    const found = new Map((await queries.findSessions(hashes)).map((session) => [keyOf(session), session]))
    for (const { userId, sequence, heldMinor, frozenFor } of found.values()) {
      const wallet = wallets.get(userId)
      if (wallet) Object.assign(wallet, { sequence, heldMinor, frozenFor })
    }
    for (const watchers of sets) for (const each of watchers) each.onCheck(found.get(keyOf(each.session)))
  }

  function add(walletId: string): void {
    due.add(walletId)
    scheduleCheck()
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
    clearTimeout(checkTimer)
    checkTimer = undefined
    due.clear()
  }

  return {
    watch: (watcher) => {
      const { session } = watcher
      const { userId: walletId, sequence, heldMinor, frozenFor } = session
      const wallet = wallets.get(walletId) ?? { walletId, sessions: new Map(), sequence, heldMinor, frozenFor }
      const here = wallet.sessions.get(keyOf(session)) ?? new Set()
      if (isClosed || total >= maxWatchers || here.size >= maxPerSession) return undefined
      wallets.set(walletId, wallet)
      wallet.sessions.set(keyOf(session), here.add(watcher))
      if (++total === 1) schedulePoll(performance.now() + pollMs)
      // The state of the session may be older than a change that was poked just before.
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
      clearTimeout(checkTimer)
    },
  }
}

function keyOf({ tokenHash }: Session): string {
  return tokenHash.toString('base64')
}
