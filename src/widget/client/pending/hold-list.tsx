/** Everything on hold, of all apps. A change of the wallet reads it again. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useNow } from '../activity/latest.tsx'
import { call, type WidgetHold, type WidgetWallet } from '../call.ts'
import { formatMoney } from '../format.ts'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { Notice, useIsMounted, ViewHead } from '../parts.tsx'
import { useProofs } from '../use-proof.ts'
import { HoldRow, isMoreHeld } from './hold-row.tsx'

export type HoldListProps = {
  wallet: WidgetWallet
  token: () => string | null
  skewMs: number
  onBack: () => void
}

export function HoldList({ wallet, token, skewMs, onBack }: HoldListProps) {
  const { lang, words, say, topup } = usePage<'pending'>()
  const { balance, held, available, currency, proof, transactions } = wallet
  const money = (amount: number) => formatMoney(amount, currency, lang)
  const now = useNow(skewMs)
  const proofs = useProofs()
  const isMounted = useIsMounted()
  const [holds, setHolds] = useState<readonly WidgetHold[]>()
  const [hasFailed, setFailed] = useState(false)
  const asked = useRef(0)

  async function read(): Promise<void> {
    setFailed(false)
    const mine = ++asked.current
    const reply = await call<{ holds: readonly WidgetHold[] }>('holds', token())
    // An older list may arrive after a newer one.
    if (!isMounted() || mine !== asked.current) return
    if (reply.failure) setFailed(true)
    else setHolds(reply.body.holds)
  }
  useEffect(() => void read(), [held, proof, transactions[0]?.sequence])

  const isCut = holds !== undefined && isMoreHeld(held, holds, topup.decimals)
  return (
    <section class="account holds">
      <ViewHead title={say('onHold', { amount: money(held) })} onBack={onBack} />
      <div class="card stack">
        <p class="muted">{words.holdsText}</p>
        <dl class="figures">
          <Figure name={words.wholeBalance} value={money(balance)} />
          <Figure name={words.balance} value={money(available)} />
        </dl>
      </div>
      <div class="card stack" aria-busy={!holds && !hasFailed}>
        <div role="alert">
          {hasFailed && (
            <Notice tone="bad" icon="alert">
              {words.notReached}
            </Notice>
          )}
        </div>
        {hasFailed && (
          <button type="button" class="button quiet" onClick={() => void read()}>
            {words.retry}
          </button>
        )}
        {!holds && !hasFailed && [0, 1, 2].map((row) => <span key={row} class="skeleton line" />)}
        {holds?.length === 0 && <p class="muted">{words.holdsNone}</p>}
        {holds && holds.length > 0 && (
          <ul role="list">
            {holds.map((hold) => (
              <HoldRow key={hold.id} hold={hold} currency={currency} now={now} />
            ))}
          </ul>
        )}
        {isCut && <p class="muted">{words.holdsMore}</p>}
        {holds?.some(({ isPrivate }) => isPrivate) && (
          <p class="everything">
            <Icon name="lock" />
            <span>{words.everything}</span>
            <button type="button" class="button quiet small" onClick={() => void proofs.ask('person')}>
              {words.signIn}
            </button>
          </p>
        )}
      </div>
    </section>
  )
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="money" style={{ '--digits': value.length }}>
        {value}
      </dd>
    </div>
  )
}
