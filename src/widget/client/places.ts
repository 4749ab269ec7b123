/**
 * The open view as entries of the browser's history, so that Back, Forward and a reload find it. An entry names the view, never its
 * content. It counts only for the user who opened it.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { writeEntry } from './history-entry.ts'

export type Place =
  | { readonly view: 'account'; readonly part?: string }
  /** With a sequence, the details of that entry, opened from the wallet or from the list of all entries. */
  | { readonly view: 'holds' }
  | { readonly view: 'activity'; readonly sequence?: number; readonly isInList?: boolean }

export type Places = {
  /** Null shows the wallet. */
  readonly place: Place | null
  readonly go: (place: Place) => void
  /** Returns to the view that opened this one. */
  readonly back: () => void
  readonly home: () => void
}

/** Kept in `history.state` as `at`, beside the session. */
type Kept = {
  readonly place?: Place | null
  /** Identifies the user, as `linkKey` does. */
  readonly of?: string
  /** How many entries of this page precede this one. */
  readonly depth?: number
  /** `history.length` after this page's last entry. */
  readonly length?: number
  readonly scroll?: number
}

const kept = () => ((history.state ?? {}) as { at?: Kept }).at ?? {}

function parentOf(place: Place): Place | null {
  if (place.view === 'account') return place.part === undefined ? null : { view: 'account' }
  return place.view === 'activity' && place.isInList ? { view: 'activity' } : null
}

/** The element of the wallet that opens a place. */
export function openerOf(place: Place): string {
  if (place.view !== 'activity') return `open-${place.view}`
  return place.sequence === undefined || place.isInList ? 'all-activity' : `entry-${place.sequence}`
}

function placeFor(linkKey: string): Place | null {
  const { place, of } = kept()
  // Another version of this page may have written the entry.
  const isKnown = ['account', 'activity', 'holds'].includes(place?.view ?? '')
  return of === linkKey && isKnown ? place! : null
}

export function usePlaces(linkKey: string, onTraverse: () => void): Places {
  const [place, setPlace] = useState(() => placeFor(linkKey))
  const ownLength = useRef(kept().length)
  const scroll = useRef<number>(undefined)
  const isStepping = useRef(false)

  useEffect(() => {
    const traverse = () => {
      isStepping.current = false
      scroll.current = kept().scroll ?? 0
      setPlace(placeFor(linkKey))
      onTraverse()
    }
    addEventListener('popstate', traverse)
    return () => removeEventListener('popstate', traverse)
  }, [])

  useLayoutEffect(() => {
    if (scroll.current !== undefined) scrollTo(0, scroll.current)
    scroll.current = undefined
  }, [place])

  /** Without an entry of this page before this one, or after the parent page added one on top, stepping back would leave this page. */
  function stepBack(steps: number, to: Place | null): void {
    // A second press before the first step is done would step over the wallet.
    if (isStepping.current) return
    if (steps > 0 && (kept().depth ?? 0) >= steps && history.length === ownLength.current) {
      isStepping.current = true
      setTimeout(() => (isStepping.current = false), 1_000)
      return history.go(-steps)
    }
    write('replaceState', { ...kept(), place: to, of: linkKey })
    setPlace(to)
  }

  return {
    place,
    go: (next) => {
      write('replaceState', { ...kept(), scroll: scrollY })
      const depth = (kept().depth ?? 0) + 1
      write('pushState', { ...kept(), place: next, of: linkKey, depth, scroll: 0 })
      ownLength.current = history.length
      write('replaceState', { ...kept(), length: history.length })
      setPlace(next)
    },
    back: () => stepBack(1, place && parentOf(place)),
    home: () => {
      if (placeFor(linkKey) !== null) stepBack(stepsToHome(place), null)
    },
  }
}

function stepsToHome(place: Place | null): number {
  return place === null ? 0 : 1 + stepsToHome(parentOf(place))
}

function write(method: 'pushState' | 'replaceState', at: Kept): void {
  writeEntry(method, { ...(history.state as object | null), at })
}
