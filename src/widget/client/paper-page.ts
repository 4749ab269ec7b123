/** The script of a receipt or statement: its button prints. Without it, the browser's own menu does. */
function within(id: string, set: (element: HTMLElement) => void): void {
  const element = document.getElementById(id)
  if (element) set(element)
}

within('print', (button) => {
  button.hidden = false
  button.addEventListener('click', () => print())
})

// The link to the file works once, so it goes when it has been used.
within('file', (link) => link.addEventListener('click', () => setTimeout(() => (link.hidden = true))))
