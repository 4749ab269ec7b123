/**
 * Proofs of the open wallet. A view that needs a proof, or a call that was refused without it, opens one prompt for the password; the
 * view stays mounted behind it and goes on when the user has answered.
 */
import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { onProofNeeded, type NeededProof, type WidgetWallet } from './call.ts'
import type { WalletSession } from './wallet-session.ts'

/** Why the prompt is open: it has one text for each. */
export type ProofCause = 'first' | 'ended' | 'presence'

export type ProofPrompt = {
  readonly cause: ProofCause
  /** The account was asked for: leaving this app needs no proof, so the prompt offers it. */
  readonly hasExits: boolean
  readonly answer: (isProved: boolean) => void
}

export type Proofs = {
  /** Whether the proof is live, as far as this page knows. */
  readonly has: (needed: NeededProof) => boolean
  /** Resolves to false if the user declines. */
  readonly ask: (needed: NeededProof, hasExits?: boolean) => Promise<boolean>
  readonly prompt: ProofPrompt | null
  /** Closes the prompt, if it is open, without a proof. */
  readonly decline: () => void
  /** The current session, which may have been renewed while the prompt was open. */
  readonly token: () => string | null
}

/** For views that must know before a call whether it will be refused. */
export const ProofContext = createContext<Proofs | null>(null)

export const useProofs = () => useContext(ProofContext)!

/** A call that starts this close to the end of `presence` may arrive after it. */
const marginMs = 10_000

export function useProof(
  wallet: WidgetWallet,
  clockSkewMs: number,
  session: WalletSession,
  onDeclined: () => void,
): Proofs {
  const [prompt, setPrompt] = useState<ProofPrompt | null>(null)
  const open = useRef<{ result: Promise<boolean>; answer: (isProved: boolean) => void }>(undefined)
  const wasPerson = useRef(false)
  const opener = useRef<Element | null>(null)
  if (wallet.proof !== 'session') wasPerson.current = true

  function has(needed: NeededProof): boolean {
    if (needed === 'person') return wallet.proof !== 'session'
    return wallet.proof === 'presence' && Date.parse(wallet.presenceUntil ?? '') - Date.now() - clockSkewMs > marginMs
  }

  function ask(needed: NeededProof, hasExits = false): Promise<boolean> {
    if (open.current) return open.current.result
    const { promise, resolve } = Promise.withResolvers<boolean>()
    opener.current = document.activeElement
    const answer = (isProved: boolean) => {
      open.current = undefined
      setPrompt(null)
      resolve(isProved)
      if (!isProved && needed === 'person') onDeclined()
    }
    open.current = { result: promise, answer }
    setPrompt({ cause: needed === 'presence' ? 'presence' : wasPerson.current ? 'ended' : 'first', hasExits, answer })
    return promise
  }

  useEffect(() => {
    onProofNeeded(async (needed) => {
      // The wallet behind the prompt must not show more than the proof allows.
      if (needed === 'person' && !open.current) session.refresh()
      return (await ask(needed)) ? session.token() : null
    })
    return () => {
      onProofNeeded(undefined)
      open.current?.answer(false)
    }
  }, [])

  // After the prompt the focus returns to where it was. The button of the wallet's line is gone after a yes.
  useEffect(() => {
    if (prompt || !opener.current) return
    if (opener.current.isConnected) (opener.current as HTMLElement).focus()
    else if (document.activeElement === document.body) document.getElementById('activity-label')?.focus()
    opener.current = null
  }, [prompt])

  const decline = () => open.current?.answer(false)
  return { has, ask, prompt, decline, token: () => session.token() }
}
