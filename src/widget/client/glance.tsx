/** The sums of this month below the balance, where a wide frame has room beside the latest entries. They load with the view `activity`. */
import { useEffect, useState } from 'preact/hooks'
import type { WidgetWallet } from './call.ts'
import { LoadView } from './load-view.tsx'
import { usePage } from './page-context.tsx'
import { useProofs } from './use-proof.ts'

type GlanceProps = { wallet: WidgetWallet; skewMs: number; token: () => string | null }

export function Glance({ wallet: { transactions }, skewMs, token }: GlanceProps) {
  const { words } = usePage()
  const isWide = useIsWide()
  const [latest] = transactions
  // The sums of all apps are for the person alone.
  const isAllowed = useProofs().has('person')
  if (!isWide || !isAllowed || !latest) return null
  return (
    <div class="glance">
      <LoadView name="activity" title={words.activity} waiting={<Bones />} isOptional>
        {(View) => <View token={token} version={latest.sequence} skewMs={skewMs} />}
      </LoadView>
    </div>
  )
}

function Bones() {
  return (
    <div class="card stack" aria-hidden="true">
      {[0, 1, 2, 3].map((row) => (
        <span key={row} class="skeleton line" />
      ))}
    </div>
  )
}

/** The width at which the stylesheet puts the latest entries beside the balance. */
const wide = '(min-width: 60rem)'

function useIsWide(): boolean {
  const [isWide, setWide] = useState(() => matchMedia(wide).matches)
  useEffect(() => {
    const query = matchMedia(wide)
    const follow = () => setWide(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return isWide
}
