/** The script of /widget/topup. */
import { hydrate } from 'preact'
import { start } from './start.ts'
import { TopupApp } from './topup-app.tsx'

const { page, root, token } = start()
// A bank's page sends the payer back to this address, with the payment's id in the query.
const paymentIntentId = new URL(location.href).searchParams.get('payment_intent') ?? undefined
if (paymentIntentId !== undefined) history.replaceState(null, '', location.pathname)
hydrate(<TopupApp page={page} here={{ token, paymentIntentId }} />, root)
