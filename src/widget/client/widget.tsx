/** The one script of the hosted pages. */
import { hydrate } from 'preact'
import type { FrameData } from '../frame-data.ts'
import { openParent } from './parent.ts'
import { reportHeight } from './resize.ts'
import { TopupApp } from './topup-app.tsx'
import { WalletApp } from './wallet-app.tsx'

const frame = JSON.parse(document.getElementById('data')!.textContent) as FrameData
const root = document.getElementById('root')!
const token = takeToken()

// Focus is moved only for people who have already used the page; see `Heading`.
for (const type of ['pointerdown', 'keydown'])
  addEventListener(type, () => (document.body.dataset['used'] = ''), { once: true, capture: true })

if (frame.page === 'topup') {
  hydrate(<TopupApp frame={frame} here={{ token }} />, root)
} else {
  const parent = openParent(frame.parents)
  hydrate(<WalletApp frame={frame} here={{ token, parent }} />, root)
  reportHeight(root, (height) => parent.post({ type: 'SERVICE_RESIZE', version: 1, height }))
}

/** The token leaves the address: an address is copied, shown and shared. */
function takeToken(): string | null {
  const url = new URL(location.href)
  const session = url.searchParams.get('session')
  if (session !== null) {
    url.searchParams.delete('session')
    history.replaceState(null, '', url)
  }
  return session
}
