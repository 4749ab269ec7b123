/**
 * Loads the transactions page by page for the current filter, and adds those that arrive meanwhile. A search goes on by itself until
 * it has found a full page, has read everything, or is stopped.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call, type WalletApp, type WidgetTransaction } from '../call.ts'
import { usePage } from '../page-context.tsx'
import { useIsMounted } from '../parts.tsx'
import { joinSpans, type Span } from './entry-span.ts'
import { ownTitles } from './latest.tsx'
import { parseSearch, queryOf, type ParsedSearch } from './parse-search.ts'

export type ActivityFilter = { readonly search: string; readonly direction: '' | 'in' | 'out'; readonly app: string }

type Page = {
  readonly transactions: readonly WidgetTransaction[]
  readonly nextBefore: number | null
  /** How many entries of the time range were not read yet. */
  readonly left: number
  readonly apps: readonly WalletApp[]
  readonly firstAt: string | null
  /** Older entries of the time range are in the archive. */
  readonly hasArchived?: boolean
}

type Held = Span<WidgetTransaction> & Omit<Page, 'transactions'>
type Query = Readonly<Record<string, string>>

const nothing: Held = { entries: [], nextBefore: null, left: 0, top: 0, apps: [], firstAt: null }
/** A search is sent once the user has not typed for this long. */
export const typingMs = 250
const fullPage = 30
/** If so many pages do not reach the entries that are shown, the list begins anew. */
const maxMissedPages = 10

export function useActivity(token: () => string | null, version: number, now: Date) {
  const isMounted = useIsMounted()
  const [filter, setFilter] = useState<ActivityFilter>({ search: '', direction: '', app: '' })
  const { parsed, query } = useQuery(filter, now)
  /** The query and its entries; null before the first page. */
  const [shown, setShown] = useState<{ readonly query: Query; readonly held: Held } | null>(null)
  const [load, setLoad] = useState<'loading' | 'failed' | 'stopped' | 'there'>('loading')
  const current = useRef(query)
  current.current = query
  const newest = useRef(version)
  newest.current = version
  /** What to repeat after a failure. */
  const last = useRef<'newest' | 'older'>('newest')
  /** The number of the last search: one that was stopped or replaced ends. */
  const searches = useRef(0)

  /** Undefined if it could not be read, or the query has changed since. */
  async function readPage(before: number | null): Promise<Held | undefined> {
    const top = before === null ? newest.current : before - 1
    const cursor = before === null ? {} : { before: String(before) }
    const reply = await call<Page>('activity', token(), undefined, { ...query, ...cursor })
    if (!isMounted() || current.current !== query) return undefined
    if (reply.failure) {
      setLoad('failed')
      return undefined
    }
    const { transactions, ...rest } = reply.body
    return { ...rest, entries: transactions, top: Math.max(top, transactions[0]?.sequence ?? 0) }
  }

  /** Reads older pages until, with those already found, a page is full. */
  async function searchOlder(reached: Held, found: number): Promise<void> {
    last.current = 'older'
    const mine = ++searches.current
    setLoad('loading')
    while (found < fullPage && reached.nextBefore !== null) {
      const page = await readPage(reached.nextBefore)
      if (!page || mine !== searches.current) return
      // Entries that arrived during the read are in the state, not in `reached`.
      setShown((before) => before && { query, held: { ...page, ...(joinSpans(before.held, page) ?? before.held) } })
      found += page.entries.length
      reached = page
    }
    setLoad('there')
  }

  async function loadFirst(): Promise<void> {
    last.current = 'newest'
    const mine = ++searches.current
    setLoad('loading')
    const page = await readPage(null)
    if (!page || mine !== searches.current) return
    setShown({ query, held: page })
    await searchOlder(page, page.entries.length)
  }

  /** Reads from the newest entry to those that are shown. */
  async function loadNewest(held: Held): Promise<void> {
    last.current = 'newest'
    let read = await readPage(null)
    for (let pages = 1; read && !joinSpans(held, read) && pages < maxMissedPages; pages++) {
      const next = await readPage(read.nextBefore)
      read = next && { ...next, ...joinSpans(read, next)! }
    }
    if (!read) return
    const page = read
    setShown((before) => {
      const joined = before?.query === query ? joinSpans(before.held, page) : undefined
      // The oldest entry that is held decides about those below it.
      const end = joined && joined.nextBefore !== page.nextBefore ? before!.held : page
      const { left, hasArchived = false } = end
      return { query, held: { ...page, ...joined, left, hasArchived } }
    })
    setLoad((now) => (now === 'failed' ? 'there' : now))
  }

  useEffect(() => {
    const start = () => void (shown?.query === query ? loadNewest(shown.held) : loadFirst())
    const timer = setTimeout(start, filter.search === '' ? 0 : typingMs)
    return () => clearTimeout(timer)
  }, [query, version])

  function stop(): void {
    searches.current++
    setLoad('stopped')
  }

  function more(): void {
    if (shown?.query !== query) void loadFirst()
    else if (load === 'failed' && last.current === 'newest') void loadNewest(shown.held)
    else void searchOlder(shown.held, 0)
  }

  const { entries: transactions, ...held } = shown?.held ?? nothing
  return { ...held, transactions, filter, setFilter, parsed, query, load, more, stop }
}

/** The filter as the API takes it: the same object as long as its content is the same. */
function useQuery(filter: ActivityFilter, now: Date): { parsed: ParsedSearch; query: Query } {
  const { say, lang, words, topup } = usePage<'activity'>()
  const day = now.toDateString()
  const currency = { code: topup.currency, decimals: topup.decimals }
  const parsed = useMemo(
    () => parseSearch(filter.search, { lang, currency, words, now: new Date(day) }),
    [filter.search, lang, day],
  )
  const text = parsed.text.toLowerCase()
  const types = Object.entries({ ...ownTitles, BONUS: 'bonusEntry' as const })
    .filter(([, key]) => text !== '' && say(key, { reason: '' }).toLowerCase().includes(text))
    .map(([type]) => type)
  const written = JSON.stringify({
    ...queryOf(parsed, currency),
    ...(filter.direction && { direction: filter.direction }),
    ...(filter.app && { app: filter.app }),
    ...(types.length > 0 && { types: types.join() }),
  })
  const query = useMemo(() => JSON.parse(written) as Query, [written])
  return { parsed, query }
}
