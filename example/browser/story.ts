/** The panel "What just happened": explains each call of the backend and each message of the widget, newest first. */
import type { WidgetMessage } from '@billfold/sdk/contract'
import type { Step } from '../answers.ts'
import { byId, make } from './dom.ts'

const maxEntries = 60

const calls: Readonly<Record<string, string>> = {
  'GET /api/server/wallet':
    'The backend read the balance. It does not store one, because a stored balance may be wrong.',
  'GET /api/server/wallet/check-balance': 'The backend asked whether the balance would cover a refused order now.',
  'POST /api/server/wallet/debit':
    'The backend took the money. The order number is the reference: the same reference never moves money twice.',
  'POST /api/server/wallet/credit': 'The backend added money, under its own reference.',
  'POST /api/server/wallet/hold':
    'The backend reserved the money. It is still in the wallet, but it cannot be spent until the order ships, is cancelled or expires.',
  'POST /api/server/wallet/hold/capture': 'The order ships: the backend took the money that was reserved.',
  'POST /api/server/wallet/hold/void': 'The order is cancelled: the backend released the money.',
  'GET /api/server/wallet/hold': 'The backend asked whether the reservation still stands.',
  'POST /api/server/link/verify':
    'The backend verified the one-time code and stored the id that the service returned. It did not trust the browser.',
  'POST /api/widget/session':
    'The backend created a session for the widget: valid for five minutes, and only in this page.',
}

const refusals: Readonly<Record<string, string>> = {
  INSUFFICIENT_BALANCE:
    'Refused: the balance is too small. This reference stays refused; a new attempt needs a new one.',
  USER_NOT_FOUND: 'The service no longer knows this id, so the shop removed the link.',
  HOLD_EXPIRED: 'Refused: the reservation has expired, and its money is available again.',
  HOLD_CLOSED: 'Refused: this reservation was captured or released before.',
  WALLET_INACTIVE: 'Refused: the wallet is frozen.',
  INVALID_LINK_CODE: 'Refused: this code was used before, has expired, or belongs to another app. Nothing was linked.',
}

const messages: Readonly<Record<WidgetMessage['type'], string>> = {
  SERVICE_WALLET_LOADED: 'The widget is ready and shows the wallet.',
  SERVICE_WALLET_UPDATED: 'The wallet changed. The page asks its backend for the new balance.',
  SERVICE_OPEN_TOPUP: 'You asked to add money. The SDK opens the top-up page in a separate window.',
  SERVICE_AUTH_REQUIRED: 'The widget shows its sign-in form. The shop never sees what you type there.',
  SERVICE_AUTH_SUCCESS: 'You signed in. The page sends the one-time code to its backend, which verifies it.',
  SERVICE_LOGOUT_REQUEST:
    'You asked to switch accounts. The shop removes the link and loads the widget without a session.',
  SERVICE_RESIZE: '',
  SERVICE_SESSION_EXPIRING:
    'The session expires soon. The SDK fetches a new one and passes it to the widget, without a reload.',
  SERVICE_SESSION_EXPIRED: 'The session has expired. The SDK fetches a new one.',
  SERVICE_ERROR: 'The widget reports a problem.',
}

export function showStep(step: Step): void {
  const { call: title, status, isLost, sent, got } = step
  const outcome = isLost ? 'answer lost' : status === null ? 'no answer' : String(status)
  const isBad = status === null || status >= 400
  const isQuiet = title.startsWith('GET') && !isBad
  addEntry({
    from: 'Shop → Billfold',
    kind: 'call',
    title,
    outcome,
    isBad,
    isQuiet,
    text: wordsOf(step),
    details: { sent, got },
  })
}

function wordsOf({ call, status, isLost, got }: Step): string {
  const { code, error, replayed } = got
  if (isLost) return 'The service did this, but its answer was lost. The SDK sends the same reference again.'
  if (status === null) return 'No answer came. Sending the same reference again is safe.'
  if (status >= 400) return refusals[text(code)] ?? (text(error) || 'The service refused.')
  if (replayed === true)
    return 'The reference was used before: the service returned the first answer, and no money moved.'
  return calls[call] ?? ''
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function showMessage(message: WidgetMessage): void {
  // Changes of the height are not worth an entry.
  if (message.type === 'SERVICE_RESIZE') return
  const { type, ...fields } = message
  const text = messages[type] ?? ''
  addEntry({
    from: 'Widget → page',
    kind: 'message',
    title: type,
    outcome: '',
    isBad: type === 'SERVICE_ERROR',
    isQuiet: false,
    text,
    details: shown(fields),
  })
}

/** Shortens ids: the first characters are enough to recognise them, and other people may see the panel. */
function shown(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shownField(name, value)]))
}

function shownField(name: string, value: unknown): unknown {
  if (name === 'linkCode') return '(works once)'
  return typeof value === 'string' ? value.replace(/\b((?:su|ws)_[\w-]{4})[\w-]+/, '$1…') : value
}

type Entry = {
  from: string
  kind: 'call' | 'message'
  title: string
  outcome: string
  isBad: boolean
  isQuiet: boolean
  text: string
  details: object
}

function addEntry({ from, kind, title, outcome, isBad, isQuiet, text, details }: Entry): void {
  const list = byId('steps')
  const time = new Date().toLocaleTimeString('en', { hour12: false })
  list.prepend(
    make(
      'li',
      { class: `entry ${kind}${isBad ? ' bad' : ''}${isQuiet ? ' quiet-entry' : ''}` },
      make('div', { class: 'entry-top' }, make('span', { class: 'from' }, from), make('span', { class: 'time' }, time)),
      make(
        'p',
        { class: 'title' },
        make('code', {}, title),
        ...(outcome ? [make('span', { class: 'outcome' }, outcome)] : []),
      ),
      make('p', { class: 'text' }, text),
      make('details', {}, make('summary', {}, 'Details'), make('pre', {}, JSON.stringify(details, null, 2))),
    ),
  )
  while (list.children.length > maxEntries) list.lastElementChild?.remove()
}

export function clearStory(): void {
  byId('steps').replaceChildren()
}
