/** The wallet session of a page as a hook. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PageData } from '../page-data.ts'
import type { Surroundings } from './start.ts'
import { openWalletSession, type WalletSession, type WalletState } from './wallet-session.ts'

export type Visit = {
  readonly state: WalletState
  /** Available only after the first effects have run. */
  readonly session: () => WalletSession
  /** The current token, which a renewal changes. */
  readonly token: () => string | null
  /** A new number for each new user. It is the key of the views, so that no state of one user is shown to the next. */
  readonly person: number
  /** How often a top-up window of this user has announced itself. */
  readonly topupWindows: number
}

export function useWalletSession(page: PageData, here: Surroundings | undefined): Visit {
  const [state, setState] = useState<WalletState>(firstState(page.kind))
  const [person, setPerson] = useState(0)
  const [topupWindows, setTopupWindows] = useState(0)
  const session = useRef<WalletSession>(undefined)
  useEffect(() => {
    if (!here) return undefined
    session.current = openWalletSession(page.page, here.first, firstState(page.kind).kind, here.parent, {
      state: setState,
      anotherPerson: () => setPerson((before) => before + 1),
      topupWindow: () => setTopupWindows((before) => before + 1),
    })
    return () => session.current?.close()
  }, [])
  const token = () => session.current?.token() ?? null
  return { state, session: () => session.current!, token, person, topupWindows }
}

function firstState(kind: PageData['kind']): WalletState {
  if (kind === 'expired') return { kind, isStuck: false }
  return kind === 'session' ? { kind: 'loading' } : { kind }
}
