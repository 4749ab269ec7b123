/** The script of /widget/topup. */
import { start } from './start.ts'
import { TopupApp } from './topup-app.tsx'

// Where a bank's own page sends the payer back to. Read before the address is cleaned.
const paymentIntentId = new URL(location.href).searchParams.get('payment_intent') ?? undefined
// The page is there before this script, and somebody quick has chosen an amount by now.
const chosen = document.querySelector<HTMLInputElement>('[name=amount]:checked')?.value
start((page, here) => <TopupApp page={page} here={{ ...here, paymentIntentId, chosen }} />)
