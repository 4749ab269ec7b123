/** The panel "What just happened": each call of the backend and each message of the widget, newest first, in plain words. */
import type { WidgetMessage } from '@billfold/sdk/contract'
import type { Step } from '../answers.ts'
import { byId, make } from './dom.ts'

const maxEntries = 60

const calls: Readonly<Record<string, string>> = {
  'GET /api/server/wallet': 'The backend asked for the balance. What the shop remembers of it is never the truth.',
  'GET /api/server/wallet/check-balance': 'The backend asked whether the wallet would cover a refused order by now.',
  'POST /api/server/wallet/debit':
    'The backend took the money. Its order number is the reference: the same pair never moves money twice.',
  'POST /api/server/wallet/credit': 'The backend gave money, under a reference of its own.',
  'POST /api/server/link/verify':
    'The backend had the code proved, and stored the id it got for it. It did not believe the browser.',
  'POST /api/widget/session': 'The backend made a session of five minutes for the widget, valid in this page alone.',
}

const refusals: Readonly<Record<string, string>> = {
  INSUFFICIENT_BALANCE:
    'Refused: the balance is too small. This reference stays refused; a new attempt takes a new one.',
  USER_NOT_FOUND: 'The service does not know this id any more, so the shop removed the link.',
  WALLET_INACTIVE: 'Refused: the wallet is frozen.',
  INVALID_LINK_CODE: 'Refused: this code was used before, is too old, or belongs to another app. Nothing was linked.',
}

const messages: Readonly<Record<WidgetMessage['type'], string>> = {
  SERVICE_WALLET_LOADED: 'The widget is ready and shows the wallet.',
  SERVICE_WALLET_UPDATED: 'The wallet changed. The page now asks its own backend for the new balance.',
  SERVICE_OPEN_TOPUP: 'You asked to add money. The SDK opens the top-up page in a window of its own.',
  SERVICE_AUTH_REQUIRED: 'The widget shows its sign-in form. The shop never sees what you write there.',
  SERVICE_AUTH_SUCCESS: 'You signed in. The page hands the one-time code to its backend, which will check it.',
  SERVICE_LOGOUT_REQUEST:
    'You asked to switch the account. The shop removes the link and loads the widget without a session.',
  SERVICE_RESIZE: '',
  SERVICE_SESSION_EXPIRING: 'The session ends soon. The SDK fetches a new one and hands it over, without a reload.',
  SERVICE_SESSION_EXPIRED: 'The session has ended. The SDK asks for another.',
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
  if (isLost) return 'The service did this, but its answer got lost. The SDK sends the same reference again.'
  if (status === null) return 'No answer came. The same reference can be sent again, safely.'
  if (status >= 400) return refusals[text(code)] ?? (text(error) || 'The service refused.')
  if (replayed === true) return 'The reference was known: the first answer came once more, and nothing moved.'
  return calls[call] ?? ''
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function showMessage(message: WidgetMessage): void {
  // Growing and shrinking is not a story.
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

/** The beginning of an id is enough to recognise it; a panel is looked at by more than one pair of eyes. */
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
