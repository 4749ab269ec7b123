/** Ticks what the visitor has tried. Stored for the browser session, so that changing the shop user does not reset it. */
import { byId } from './dom.ts'

const key = 'tour'

export function tick(stop: string): void {
  const done = ticked()
  if (done.has(stop)) return
  sessionStorage.setItem(key, [...done, stop].join(' '))
  showTour()
}

export function showTour(): void {
  const done = ticked()
  for (const item of byId('shop').querySelectorAll<HTMLElement>('[data-stop]')) {
    const isDone = done.has(item.dataset['stop'] ?? '')
    item.classList.toggle('done', isDone)
    item.querySelector('.done-word')!.textContent = isDone ? ' (done)' : ''
  }
}

function ticked(): Set<string> {
  return new Set((sessionStorage.getItem(key) ?? '').split(' ').filter(Boolean))
}

/** Opens the tour where there is room beside the greeting; on a phone it would push the wallet down. */
export function openTour(): void {
  const wide = matchMedia('(min-width: 60rem)')
  const follow = () => byId('tour').toggleAttribute('open', wide.matches)
  wide.addEventListener('change', follow)
  follow()
}
