/** The script of the admin pages. Every page works without it. */

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', () => void copy(button))
}

/** What a screen reader says. It has to be in the page before its text changes. */
const spoken = document.body.appendChild(document.createElement('p'))
spoken.className = 'visually-hidden'
spoken.setAttribute('role', 'status')

const labels = new Map<HTMLButtonElement, string>()

async function copy(button: HTMLButtonElement): Promise<void> {
  const isIcon = button.classList.contains('copy-icon')
  const isCopied = await navigator.clipboard.writeText(button.dataset['copy'] ?? '').then(
    () => true,
    () => false,
  )
  const text = isCopied ? 'Copied' : isIcon ? 'Not copied' : 'Select and copy'
  button.dataset['copied'] = isCopied ? 'yes' : 'no'
  // A second click within the two seconds must not take “Copied” for the label.
  if (!labels.has(button)) labels.set(button, button.innerHTML)
  if (!isIcon) button.textContent = text
  spoken.textContent = text
  setTimeout(() => {
    delete button.dataset['copied']
    button.innerHTML = labels.get(button)!
    spoken.textContent = ''
  }, 2_000)
}

/** Shows times in the reader's time zone, with the zone's name; the title keeps the UTC time. */
function localise(root: ParentNode): void {
  // The Swedish locale writes year-month-day, which sorts and is unambiguous.
  const dateTime = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })
  const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
  for (const time of root.querySelectorAll<HTMLTimeElement>('time[data-local]')) {
    const at = new Date(time.dateTime)
    const name = zone.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? ''
    time.textContent = time.dataset['local'] === 'no-zone' ? dateTime.format(at) : `${dateTime.format(at)} ${name}`
  }
  for (const head of root.querySelectorAll('[data-zone]')) head.textContent = 'Time (local)'
}
localise(document)

/** Days of a filter are days of the zone in which the times are shown. */
for (const field of document.querySelectorAll<HTMLInputElement>('[data-zone]'))
  field.value = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** Refreshes a part of the page at an interval while the page is visible. */
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
    // Keep the old figures and mark them as stale.
    part.classList.add('stale')
  }
}

/** Disables the buttons of a submitted form, so that a second click does not submit it again. After a file the page stays. */
for (const form of document.querySelectorAll('form[method="post"]:not([data-file])')) {
  form.addEventListener('submit', () => {
    for (const button of form.querySelectorAll('button')) setTimeout(() => (button.disabled = true), 0)
  })
}
// A page restored from the back/forward cache still has its buttons disabled.
window.addEventListener('pageshow', (event) => {
  if (event.persisted) for (const button of document.querySelectorAll('button')) button.disabled = false
})

/** A page that shows a secret answers a POST. Replace its address with the app's, so that a reload shows the app. */
const address = document.querySelector<HTMLElement>('[data-address]')?.dataset['address']
if (address) history.replaceState(null, '', address)

for (const here of document.querySelectorAll('nav [aria-current="page"]'))
  here.scrollIntoView({ block: 'nearest', inline: 'center' })

/** Escape closes the menu of a phone. */
const menu = document.querySelector<HTMLDetailsElement>('.menu')
document.addEventListener('keydown', (event) => {
  if (!menu?.open || event.key !== 'Escape') return
  menu.open = false
  menu.querySelector('summary')?.focus()
})

/** Changing a select submits its form at once; without JavaScript the button does. */
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-auto]')) {
  for (const select of form.querySelectorAll('select')) select.addEventListener('change', () => form.requestSubmit())
}

/** `/`, Ctrl+K and ⌘K focus the search; a slash typed into a field stays a slash. */
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
