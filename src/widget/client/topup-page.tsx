/** The script of /widget/topup. */
import { start } from './start.ts'
import { TopupApp } from './topup-app.tsx'
import { keptNeed, needToKeep } from './topup/kept-topup.ts'
import { keepAppUrl } from './topup/window.ts'

// Set when a bank's page sent the payer back. Read before `start` cleans the address.
const paymentIntentId = new URL(location.href).searchParams.get('payment_intent') ?? undefined
// The page is visible before this script runs, so the user may already have chosen an amount.
const chosen = document.querySelector<HTMLInputElement>('[name=amount]:checked')?.value
start((page, here) => {
  keepAppUrl(page)
  // After a reload the address has no need.
  const topup = { ...page.topup, ...keptNeed() }
  return <TopupApp page={{ ...page, topup }} here={{ ...here, paymentIntentId, chosen }} />
}, needToKeep)
