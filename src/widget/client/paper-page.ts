/** The script of a receipt or statement: it makes the print button work, and lets an earlier proof be chosen. */
import { isPosition, parseProof } from '../../../sdk/verify/proof-file.ts'

/** Larger than any proof. */
const maxFileBytes = 200_000

function within(id: string, set: (element: HTMLElement) => void): void {
  const element = document.getElementById(id)
  if (element) set(element)
}

within('print', (button) => {
  button.hidden = false
  button.addEventListener('click', () => print())
})

// Each link to a file works once, so it is hidden after the first click.
for (const id of ['file', 'proof'])
  within(id, (link) =>
    link.addEventListener('click', () =>
      setTimeout(() => {
        link.hidden = true
        if (id === 'proof') within('earlier', (details) => (details.hidden = true))
      }),
    ),
  )

/** The new proof shows whether the history changed since the earlier one: the file is only read here, and stays here. */
within('earlier', (details) => {
  const link = document.querySelector<HTMLAnchorElement>('#proof')
  const input = document.querySelector<HTMLInputElement>('#earlier-file')
  if (!link || !input) return
  const { href } = link
  details.hidden = false
  const choose = async () => {
    const [file] = input.files ?? []
    const parsed = file && file.size <= maxFileBytes ? parseProof((await file.text()).replaceAll('\r\n', '\n')) : null
    const proof = parsed && !isPosition(parsed) ? parsed : null
    link.href = proof ? `${href}?since=${proof.walletSize}` : href
    within('earlier-state', (state) => {
      const { since = '', notProof = '' } = details.dataset
      state.textContent = proof ? since.replace('{size}', String(proof.walletSize)) : file ? notProof : ''
    })
  }
  input.addEventListener('change', () => void choose())
})
