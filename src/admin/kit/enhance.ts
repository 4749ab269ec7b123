/** What makes the admin pages nicer where there is JavaScript. Every page works without it. */

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

/** Times in the reader's own zone; the exact one in UTC stays as the title. */
function localise(root: ParentNode): void {
  const format = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })
  for (const time of root.querySelectorAll<HTMLTimeElement>('time[data-local]'))
    time.textContent = format.format(new Date(time.dateTime))
}
localise(document)

/** A part of a page that is fetched again and again while somebody looks at it. */
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
    // The figures stay, and look like what they are: old.
    part.classList.add('stale')
  }
}

/** A form that is being sent is not sent twice by an impatient click. */
for (const form of document.querySelectorAll('form[method="post"]')) {
  form.addEventListener('submit', () => {
    for (const button of form.querySelectorAll('button')) setTimeout(() => (button.disabled = true), 0)
  })
}
// A page that comes back from the browser's memory must be usable again.
window.addEventListener('pageshow', (event) => {
  if (event.persisted) for (const button of document.querySelectorAll('button')) button.disabled = false
})

/** A page that shows a secret once is the answer to a form; loading it again should show the app instead. */
const address = document.querySelector<HTMLElement>('[data-address]')?.dataset['address']
if (address) history.replaceState(null, '', address)

document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: 'nearest', inline: 'center' })

/** Lists choose at once; the button is for everyone else. */
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-auto]')) {
  for (const select of form.querySelectorAll('select')) select.addEventListener('change', () => form.requestSubmit())
}
