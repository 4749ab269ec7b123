/**
 * Which of several servers of one database is used. A standby that is promoted begins a new timeline, so of two servers that
 * accept writes the one with the lower timeline is an old primary that came back. Money that moves there is lost when it is
 * repaired. Pure.
 */

export type ServerState =
  | {
      readonly kind: 'primary'
      readonly systemId: string
      readonly timeline: number
      /** When the server was started: two addresses of one server have the same. */
      readonly startedAt: string
    }
  /** It is in recovery or set to read-only. */
  | { readonly kind: 'standby'; readonly systemId: string; readonly timeline: number }
  /** It accepts writes, and the role may not read its timeline, as on some managed databases. */
  | { readonly kind: 'unnumbered' }
  | { readonly kind: 'unknown'; readonly why: string }

/** The highest timeline seen of each database system. */
export type Timelines = ReadonlyMap<string, number>

export const serversProblems = ['two primaries', 'old primary'] as const
export type ServersProblem = (typeof serversProblems)[number]

export type Choice = {
  /** Undefined when none can be used. */
  readonly index: number | undefined
  readonly problem: ServersProblem | undefined
  /** For each server: why it cannot be used. */
  readonly reasons: readonly string[]
}

export function raiseTimelines(seen: Timelines, states: readonly ServerState[]): Map<string, number> {
  const raised = new Map(seen)
  for (const state of states)
    if ('timeline' in state)
      raised.set(state.systemId, Math.max(state.timeline, raised.get(state.systemId) ?? state.timeline))
  return raised
}

/** `seen` includes the timelines of these states. */
export function chooseServer(states: readonly ServerState[], seen: Timelines): Choice {
  const indexes = states.map((_, index) => index)
  const primaries = indexes.filter((index) => states[index]!.kind === 'primary')
  const newest = primaries.filter((index) => isNewest(states[index]!, seen))
  const reasons = states.map((state) => reasonOf(state, seen))
  const servers = new Set(primaries.map((index) => identityOf(states[index]!)))
  const isTwo = servers.size > 1
  // On one timeline, or of two systems, neither is known to be the older one: no money may move on either.
  if (new Set(newest.map((index) => identityOf(states[index]!))).size > 1)
    return { index: undefined, problem: 'two primaries', reasons }
  const [index = primaries.length > 0 ? undefined : indexes.find((i) => states[i]!.kind === 'unnumbered')] = newest
  if (index === undefined && primaries.length > 0)
    return { index, problem: isTwo ? 'two primaries' : 'old primary', reasons }
  return { index, problem: isTwo ? 'two primaries' : undefined, reasons }
}

function isNewest(state: ServerState, seen: Timelines): boolean {
  return state.kind === 'primary' && state.timeline >= (seen.get(state.systemId) ?? 0)
}

function identityOf(state: ServerState): string {
  return state.kind === 'primary' ? `${state.systemId} ${state.startedAt}` : ''
}

function reasonOf(state: ServerState, seen: Timelines): string {
  if (state.kind === 'unknown') return state.why
  if (state.kind === 'standby') return 'it takes no writes'
  if (state.kind === 'unnumbered') return 'it takes writes, and its timeline cannot be read'
  if (isNewest(state, seen)) return `it takes writes, on timeline ${state.timeline}`
  return `it is an old primary, on timeline ${state.timeline}; ${seen.get(state.systemId)} is the newest`
}
