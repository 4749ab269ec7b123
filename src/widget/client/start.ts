/** What the scripts of both hosted pages begin with. */
import type { PageData } from '../page-data.ts'
import { openParent, type Parent } from './parent.ts'
import { reportHeight } from './resize.ts'

export type Start = {
  readonly page: PageData
  readonly root: HTMLElement
  readonly token: string | null
  readonly parent: Parent
}

export function start(): Start {
  const page = JSON.parse(document.getElementById('data')!.textContent) as PageData
  const root = document.getElementById('root')!
  const parent = openParent(page.parents)
  // Focus is moved only for people who have already used the page; see `Heading`.
  for (const type of ['pointerdown', 'keydown'])
    addEventListener(type, () => (document.body.dataset['used'] = ''), { once: true, capture: true })
  reportHeight(root, (height) => parent.post({ type: 'SERVICE_RESIZE', version: 1, height }))
  return { page, root, token: takeToken(), parent }
}

/** Takes the session token out of the address, which people copy and share. */
function takeToken(): string | null {
  const url = new URL(location.href)
  const session = url.searchParams.get('session')
  if (session !== null) {
    url.searchParams.delete('session')
    history.replaceState(null, '', url)
  }
  return session
}
