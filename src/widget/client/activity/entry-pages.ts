/** Loads the transactions page by page for the current filter. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type WalletApp, type WidgetTransaction } from '../call.ts'
import { usePage } from '../page-context.tsx'
import { useIsMounted } from '../parts.tsx'
import { ownTitles } from './latest.tsx'

export type ActivityFilter = { readonly search: string; readonly direction: '' | 'in' | 'out'; readonly app: string }

type Page = {
  readonly transactions: readonly WidgetTransaction[]
  readonly nextBefore: number | null
  readonly apps: readonly WalletApp[]
  readonly firstAt: string | null
}

const nothing: Page = { transactions: [], nextBefore: null, apps: [], firstAt: null }
const typingMs = 250

export function useActivity(token: () => string | null, version: number) {
  const { say } = usePage()
  const isMounted = useIsMounted()
  const [filter, setFilter] = useState<ActivityFilter>({ search: '', direction: '', app: '' })
  const [page, setPage] = useState(nothing)
  const [load, setLoad] = useState<'loading' | 'failed' | 'there'>('loading')
  const [isSpanEnd, setSpanEnd] = useState(false)
  /** The number of the last request: answers to older ones are dropped. */
  const asked = useRef(0)

  function queryOf(before: number | null): Record<string, string> {
    const search = filter.search.trim()
    const types = Object.entries({ ...ownTitles, BONUS: 'bonusEntry' as const })
      .filter(([, key]) => search !== '' && say(key, { reason: '' }).toLowerCase().includes(search.toLowerCase()))
      .map(([type]) => type)
    const all = { search, direction: filter.direction, app: filter.app, types: types.join(), before: before ?? '' }
    return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])))
  }

  async function loadPage(before: number | null): Promise<void> {
    const mine = ++asked.current
    setLoad('loading')
    const reply = await call<Page>('activity', token(), undefined, queryOf(before))
    if (!isMounted() || mine !== asked.current) return
    if (reply.failure) return setLoad('failed')
    const { transactions } = reply.body
    setPage((held) => ({
      ...reply.body,
      transactions: before === null ? transactions : [...held.transactions, ...transactions],
    }))
    setSpanEnd(transactions.length < fullPage)
    setLoad('there')
  }

  useEffect(() => {
    const timer = setTimeout(() => void loadPage(null), filter.search === '' ? 0 : typingMs)
    return () => clearTimeout(timer)
  }, [filter, version])

  return {
    ...page,
    filter,
    setFilter,
    load,
    /** The last page was not full, although more entries may follow. */
    isSpanEnd,
    more: () => void loadPage(page.transactions.length === 0 && load === 'failed' ? null : page.nextBefore),
  }
}

const fullPage = 30
