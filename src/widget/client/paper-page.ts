/** The script of a receipt or statement: it makes the print button work. Without it, users print from the browser's menu. */
function within(id: string, set: (element: HTMLElement) => void): void {
  const element = document.getElementById(id)
  if (element) set(element)
}

within('print', (button) => {
  button.hidden = false
  button.addEventListener('click', () => print())
})

// The link to the file works once, so it is hidden after the first click.
within('file', (link) => link.addEventListener('click', () => setTimeout(() => (link.hidden = true))))
