/** The script of /widget/topup. */
import { hydrate } from 'preact'
import { start } from './start.ts'
import { TopupApp } from './topup-app.tsx'

const { page, root, token } = start()
// Where a bank's own page sends the payer back to.
const paymentIntentId = new URL(location.href).searchParams.get('payment_intent') ?? undefined
if (paymentIntentId !== undefined) history.replaceState(null, '', location.pathname)
hydrate(<TopupApp page={page} here={{ token, paymentIntentId }} />, root)
