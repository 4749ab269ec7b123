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
      <LoadView name="activity" title={words.activity} isOptional>
        {(View) => <View token={token} version={latest.sequence} skewMs={skewMs} />}
      </LoadView>
    </div>
  )
}

/** At the width at which the stylesheet puts the latest entries beside the balance. */
function useIsWide(): boolean {
  const [query] = useState(() => matchMedia('(min-width: 60rem)'))
  const [isWide, setWide] = useState(query.matches)
  useEffect(() => {
    const follow = () => setWide(query.matches)
    // It may have changed since the first rendering, which effects follow only after a frame.
    follow()
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return isWide
}
