/** A small React app around the guide's component: mounted in an empty page, or hydrated from server-rendered HTML. */
import { StrictMode, useState } from 'react'
import { createRoot, hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { useWallet } from '@billfold/sdk/react'
import { MyWallet } from './app.jsx'

function HookedWallet({ render }) {
  const [updated, setUpdated] = useState('')
  const [added, setAdded] = useState('')
  const { ref, status, reload, topUp } = useWallet({
    baseUrl: 'http://127.0.0.1:3000',
    clientId: 'app_…',
    fetchSession: () => fetch('/wallet/session', { method: 'POST' }).then((response) => response.json()),
    onLinked: () => {},
    onUpdated: () => setUpdated(`updated in render ${render}`),
  })
  return (
    <section>
      <output id="status">{status}</output>
      <output id="updated">{updated}</output>
      <output id="added">{added}</output>
      <button onClick={() => void reload()}>Reload</button>
      <button onClick={() => void topUp({ amount: 5 }).then(({ status }) => setAdded(status))}>Add</button>
      <div ref={ref} />
    </section>
  )
}

function Shop({ isHooked }) {
  const [render, setRender] = useState(1)
  const [theme, setTheme] = useState('light')
  const [isShown, setShown] = useState(true)
  return (
    <main>
      <output id="renders">{render}</output>
      <button onClick={() => setRender(render + 1)}>Render</button>
      <button onClick={() => setTheme('dark')}>Dark</button>
      <button onClick={() => setShown(false)}>Hide</button>
      {isShown && (isHooked ? <HookedWallet render={render} /> : <MyWallet theme={theme} />)}
    </main>
  )
}

const strict = (isHooked) => (
  <StrictMode>
    <Shop isHooked={isHooked} />
  </StrictMode>
)

export const renderShop = () => renderToString(strict(false))

if (typeof document !== 'undefined') {
  const root = document.querySelector('#root')
  const app = strict(location.search === '?hook')
  if (root.childElementCount > 0) hydrateRoot(root, app)
  else createRoot(root).render(app)
}
