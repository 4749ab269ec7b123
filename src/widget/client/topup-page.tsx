/** The script of /widget/topup. */
import { start } from './start.ts'
import { TopupApp } from './topup-app.tsx'

// Where a bank's own page sends the payer back to. Read before the address is cleaned.
const paymentIntentId = new URL(location.href).searchParams.get('payment_intent') ?? undefined
start((page, here) => <TopupApp page={page} here={{ ...here, paymentIntentId }} />)
