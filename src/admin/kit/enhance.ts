/** The script of the admin pages. Every page works without it. */

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', () => void copy(button))
}

async function copy(button: HTMLButtonElement): Promise<void> {
  const label = button.innerHTML
  await navigator.clipboard.writeText(button.dataset['copy'] ?? '').then(
    () => (button.textContent = 'Copied'),
    () => (button.textContent = 'Select and copy'),
  )
  setTimeout(() => (button.innerHTML = label), 2_000)
}

/** Shows times in the reader's own time zone, which they name; the exact time in UTC stays as the title. */
function localise(root: ParentNode): void {
  // As dates are written in Sweden: year, month, day, which sort and are mistaken for no others.
  const moment = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })
  const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
  for (const time of root.querySelectorAll<HTMLTimeElement>('time[data-local]')) {
    const at = new Date(time.dateTime)
    const name = zone.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? ''
    time.textContent = `${moment.format(at)} ${name}`
  }
}
localise(document)

/** Fetches a part of a page again and again while the page is visible. */
for (const part of document.querySelectorAll<HTMLElement>('[data-live]')) {
  const everyMs = Number(part.dataset['everyMs'] ?? 5_000)
  setInterval(() => {
    if (document.visibilityState === 'visible') void refresh(part)
  }, everyMs)
}

async function refresh(part: HTMLElement): Promise<void> {
  try {
    const response = await fetch(part.dataset['live']!, { headers: { accept: 'text/html' }, redirect: 'error' })
    if (!response.ok) throw new Error(String(response.status))
    part.innerHTML = await response.text()
    part.classList.remove('stale')
    localise(part)
  } catch {
    // The old figures stay, and their class `stale` shows that they are old.
    part.classList.add('stale')
  }
}

/** Disables the buttons of a form that is being sent, so that a second click does not send it twice. */
for (const form of document.querySelectorAll('form[method="post"]')) {
  form.addEventListener('submit', () => {
    for (const button of form.querySelectorAll('button')) setTimeout(() => (button.disabled = true), 0)
  })
}
// A page restored from the back/forward cache still has its buttons disabled.
window.addEventListener('pageshow', (event) => {
  if (event.persisted) for (const button of document.querySelectorAll('button')) button.disabled = false
})

/** A page that shows a secret is the answer to a POST. Its address becomes that of the app, so that a reload shows the app. */
const address = document.querySelector<HTMLElement>('[data-address]')?.dataset['address']
if (address) history.replaceState(null, '', address)

document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: 'nearest', inline: 'center' })

/** A choice in a list submits its form at once; without JavaScript there is the button. */
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-auto]')) {
  for (const select of form.querySelectorAll('select')) select.addEventListener('change', () => form.requestSubmit())
}

/** `/`, Ctrl+K and ⌘K lead to the search; a slash that somebody writes into a field stays one. */
const search = document.querySelector<HTMLInputElement>('#search')
document.addEventListener('keydown', (event) => {
  const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
  const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isWriting(event.target)
  if (!search || !(isK || isSlash)) return
  event.preventDefault()
  search.focus()
  search.select()
})

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select')
}
