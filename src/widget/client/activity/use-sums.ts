/** Adds up the entries that a query finds, call by call, exactly. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type WalletApp } from '../call.ts'
import { usePage } from '../page-context.tsx'
import { useIsMounted } from '../parts.tsx'
import { toMinor } from './parse-search.ts'

type Answer = {
  readonly sources: readonly {
    readonly source: 'app' | 'card' | 'service'
    readonly app: WalletApp | null
    readonly count: number
    readonly out: string
    readonly in: string
  }[]
  readonly searched: number
  readonly left: number
  readonly nextBefore: number | null
  readonly hasArchived?: true
}

/** What one app, the user's cards or the service took and gave. */
export type SourceSum = {
  /** A clientId, or `card` or `service`. */
  readonly key: string
  readonly app: WalletApp | null
  readonly count: number
  readonly outMinor: bigint
  readonly inMinor: bigint
}

export type Sums = {
  readonly sources: readonly SourceSum[]
  readonly searched: number
  readonly left: number
  readonly nextBefore: number | null
  /** Older entries of the time range are in the archive. */
  readonly hasArchived?: true
}

const nothing: Sums = { sources: [], searched: 0, left: 0, nextBefore: null }

export type SumsLoad = 'loading' | 'failed' | 'stopped' | 'there'

type Query = Readonly<Record<string, string>>

/** `waitMs`: how long a query must stay the same before it is sent, while the user types. */
export function useSums(token: () => string | null, version: number, query: Query, waitMs = 0) {
  const { topup } = usePage()
  const isMounted = useIsMounted()
  const [shown, setShown] = useState<Sums>()
  const [load, setLoad] = useState<SumsLoad>('loading')
  const asked = useRef(0)
  const held = useRef(nothing)
  const shownQuery = useRef<Query>(undefined)

  /** `isQuiet`: sums of the same query are on screen, and stay until the new ones are complete. */
  async function run(isQuiet: boolean): Promise<void> {
    const mine = ++asked.current
    if (!isQuiet) setLoad('loading')
    do {
      const { nextBefore: before } = held.current
      const reply = await call<Answer>('activity/sums', token(), undefined, {
        ...query,
        ...(before !== null && { before: String(before) }),
      })
      if (!isMounted() || mine !== asked.current) return
      if (reply.failure) return setLoad('failed')
      held.current = addAnswer(held.current, reply.body, topup.decimals)
      if (!isQuiet) setShown(held.current)
    } while (held.current.nextBefore !== null)
    shownQuery.current = query
    setShown(held.current)
    setLoad('there')
  }

  useEffect(() => {
    const isQuiet = shownQuery.current === query
    if (!isQuiet) setShown(undefined)
    if (!isQuiet) setLoad('loading')
    asked.current++
    const start = () => {
      held.current = nothing
      void run(isQuiet)
    }
    const timer = setTimeout(start, isQuiet ? 0 : waitMs)
    return () => clearTimeout(timer)
  }, [query, version])

  function stop(): void {
    asked.current++
    setLoad('stopped')
  }

  return { sums: shown, load, stop, more: () => void run(false) }
}

export function addAnswer(held: Sums, { sources, searched, ...rest }: Answer, decimals: number): Sums {
  const byKey = new Map(held.sources.map((each) => [each.key, each]))
  for (const { source, app, ...sum } of sources) {
    const key = app?.clientId ?? source
    const before = byKey.get(key)
    byKey.set(key, {
      key,
      app,
      count: (before?.count ?? 0) + sum.count,
      outMinor: (before?.outMinor ?? 0n) + toMinor(sum.out, decimals),
      inMinor: (before?.inMinor ?? 0n) + toMinor(sum.in, decimals),
    })
  }
  return { sources: [...byKey.values()], searched: held.searched + searched, ...rest }
}
