/** The shop's page. One call of mountWallet embeds the wallet; the rest is the shop's own buttons. */
import { mountWallet } from '@billfold/sdk/browser'
import type { Answer, Outcome, SessionAnswer, ShownOrder } from '../answers.ts'
import { byId } from './dom.ts'
import { clearStory, showMessage, showStep } from './story.ts'
import { openTour, showTour, tick } from './tour.ts'
import { notify, showOutcome, showState, type OrderActions } from './view.ts'

const { billfoldUrl = '', clientId = '' } = byId('shop').dataset
const lose = byId('lose') as HTMLInputElement

const wallet = mountWallet(byId('wallet'), {
  baseUrl: billfoldUrl,
  clientId,
  title: 'Your wallet',
  fetchSession: async () => {
    const { session, steps } = await post<SessionAnswer>('/api/wallet/session')
    steps.forEach(showStep)
    return session
  },
  // The widget also sends the serviceUserId. The page does not pass it on: the backend gets it for the code.
  onLinked: ({ linkCode }) => inTurn(() => act('/api/wallet/link', { linkCode })),
  onUnlinked: () => inTurn(() => act('/api/wallet/unlink')),
  onUpdated: () => inTurn(refresh),
  onEvent: showMessage,
  onError: ({ code, message }) => notify('bad', walletProblems[code] ?? message),
})

const walletProblems: Readonly<Record<string, string>> = {
  NOT_ALLOWED: `The wallet service does not let ${location.origin} embed it. Add it to the app's allowedIframeParents.`,
  BLOCKED: 'The wallet could not be loaded. Is the wallet service running?',
  TIMED_OUT: 'The wallet takes too long to load. Reload the page to try again.',
  SESSION_FAILED: 'The shop could not get a session for your wallet. Is the wallet service running?',
  LINK_FAILED: 'The shop could not link this wallet. Please sign in once more.',
}

/** Makes one change through the backend and shows the answer. Throws when linking fails, so that the SDK reports LINK_FAILED. */
async function act(path: string, body: object = {}): Promise<Answer> {
  const answer = await post<Answer>(path, body)
  showAnswer(answer)
  if (answer.outcome.kind === 'failed' && path === '/api/wallet/link') throw new Error(answer.outcome.code)
  return answer
}

async function refresh(): Promise<void> {
  const response = await fetch('/api/state')
  if (response.ok) showAnswer((await response.json()) as Answer)
}

function showAnswer({ outcome, state, steps }: Answer): void {
  steps.forEach(showStep)
  showState(state, orderActions)
  showOutcome(outcome, state)
  for (const stop of stopsOf(outcome)) tick(stop)
  if (state.sharedWith.length > 0) tick('shared')
}

function stopsOf({ kind }: Outcome): string[] {
  if (kind === 'paid-once') return ['paid', 'replayed']
  if (kind === 'refunded-once') return ['refunded', 'replayed']
  if (kind === 'shipped') return ['paid']
  return [kind === 'given-before' ? 'given' : kind]
}

async function buy(productId: string): Promise<void> {
  const placed = await post<Answer>('/api/orders', { productId })
  showAnswer(placed)
  if ('orderId' in placed.outcome && placed.outcome.orderId) await pay(placed.outcome.orderId)
}

/** If the balance is too small, asks for the missing amount at once: soon after the click the browser allows a window. */
async function pay(orderId: string): Promise<void> {
  const { outcome, state } = await change(orderId, 'pay')
  const order = state.orders.find(({ id }) => id === orderId)
  if (outcome.kind === 'refused' && order) void addMoney(order)
}

/** Pays the order once more when the money has arrived. If it is still too little, the page says so and waits. */
async function addMoney({ id, productName, shortfall }: ShownOrder): Promise<void> {
  const { status } = await wallet.topUp({ reason: productName, ...(shortfall !== undefined && { amount: shortfall }) })
  if (status === 'paid') run(`pay ${id}`, () => change(id, 'pay'))
}

async function change(orderId: string, verb: 'pay' | 'refund' | 'ship' | 'cancel'): Promise<Answer> {
  const loseAnswer = lose.checked
  lose.checked = false
  return await act(`/api/orders/${orderId}/${verb}`, { loseAnswer })
}

const orderActions: OrderActions = {
  pay: (id) => run(`pay ${id}`, () => pay(id)),
  refund: (id) => run(`refund ${id}`, () => change(id, 'refund')),
  ship: (id) => run(`ship ${id}`, () => change(id, 'ship')),
  cancel: (id) => run(`cancel ${id}`, () => change(id, 'cancel')),
  addMoney: (order) => void addMoney(order),
}

async function unlink(): Promise<void> {
  await act('/api/wallet/unlink')
  byId('wallet-title').focus()
  await wallet.reload()
}

/** Returns an answer with a state even if its status is an error; throws any other error as a fault of the shop. */
async function post<T>(path: string, body: object = {}): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status === 401) location.reload()
  const answer = (await response.json()) as Record<string, unknown>
  if (response.ok || 'state' in answer) return answer as T
  if (Array.isArray(answer['steps'])) answer['steps'].forEach(showStep)
  throw Object.assign(new Error(String(answer['message'] ?? answer['code'])), { code: answer['code'] })
}

let last: Promise<unknown> = Promise.resolve()

/** Makes requests one after the other: an answer from before a change would otherwise be shown over the answer of that change. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = last.then(work)
  last = done.catch(() => {})
  return done
}

const waiting = new Set<string>()

/** An action that is already waiting is not added again, so a double click is one click. */
function run(name: string, work: () => Promise<unknown>): void {
  if (waiting.has(name)) return
  waiting.add(name)
  byId('shop').setAttribute('aria-busy', 'true')
  inTurn(work)
    .catch((error: unknown) =>
      notify('bad', `The shop could not do that: ${error instanceof Error ? error.message : ''}`),
    )
    .finally(() => {
      waiting.delete(name)
      if (waiting.size === 0) byId('shop').removeAttribute('aria-busy')
    })
}

for (const button of document.querySelectorAll<HTMLElement>('[data-buy]')) {
  button.addEventListener('click', () => run(`buy ${button.dataset['buy']}`, () => buy(button.dataset['buy'] ?? '')))
}
byId('gift').addEventListener('click', () => run('gift', () => act('/api/wallet/gift')))
byId('unlink').addEventListener('click', () => run('unlink', unlink))
byId('forget').addEventListener('click', clearStory)
showTour()
openTour()
run('refresh', refresh)
