/** Shows the backend's answer: the orders, the link, the balance, and a notice about the last action. */
import type { Outcome, ShopState, ShownOrder } from '../answers.ts'
import { byId, make } from './dom.ts'

export type OrderActions = {
  pay: (orderId: string) => void
  refund: (orderId: string) => void
  ship: (orderId: string) => void
  cancel: (orderId: string) => void
  addMoney: (order: ShownOrder) => void
}

const shopCurrency = () => byId('shop').dataset['currency'] ?? 'USD'

function money(amount: number, currency = shopCurrency()): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount)
}

export function showState(state: ShopState, actions: OrderActions): void {
  const { user, orders, wallet, sharedWith } = state
  const isLinked = user.serviceUserId !== undefined
  byId('linked').hidden = !isLinked
  byId('not-linked').hidden = isLinked
  byId('purse').hidden = !wallet
  if (wallet) byId('purse-balance').textContent = money(wallet.available, wallet.currency)
  byId('record').textContent = JSON.stringify(user, null, 2)
  byId('record-hint').textContent = recordHint(isLinked, sharedWith)
  byId('no-orders').hidden = orders.length > 0
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset['key'] : undefined
  showOrders(orders, (order) => orderRow(order, isLinked, actions), isLinked)
  // A replaced row loses the focus: give it to the same button again, or to the heading if that button is gone.
  if (focused) (document.querySelector<HTMLElement>(`[data-key="${focused}"]`) ?? byId('orders-title')).focus()
}

/** Keeps the element of an unchanged row: a button that is replaced while it is pressed gets no click. */
function showOrders(orders: readonly ShownOrder[], draw: (order: ShownOrder) => HTMLElement, isLinked: boolean): void {
  const list = byId('orders')
  const contentOf = (order: ShownOrder) => JSON.stringify([order, isLinked])
  const contents = new Set(orders.map(contentOf))
  for (const row of list.querySelectorAll<HTMLElement>('[data-content]')) {
    if (!contents.has(row.dataset['content'] ?? '')) row.remove()
  }
  for (const [index, order] of orders.entries()) {
    const present = list.children.item(index)
    if (present instanceof HTMLElement && present.dataset['content'] === contentOf(order)) continue
    const row = draw(order)
    row.dataset['content'] = contentOf(order)
    list.insertBefore(row, present)
  }
}

function recordHint(isLinked: boolean, sharedWith: readonly string[]): string {
  if (!isLinked) return 'No wallet is linked: the field serviceUserId is absent, not null.'
  if (sharedWith.length === 0) return 'serviceUserId is the link to your wallet. No other shop can use it.'
  return `The same wallet is also linked to ${sharedWith.join(' and ')}. That is allowed: serviceUserId is not unique.`
}

const words: Readonly<Record<ShownOrder['status'], string>> = {
  open: 'Not paid',
  paying: 'Payment not confirmed yet',
  refused: 'Not enough in the wallet',
  paid: 'Paid',
  refunding: 'Refund not confirmed yet',
  refunded: 'Refunded',
  reserving: 'Reservation not confirmed yet',
  reserved: 'Reserved',
  shipping: 'Payment not confirmed yet',
  cancelling: 'Cancellation not confirmed yet',
  cancelled: 'Cancelled, nothing paid',
  expired: 'Expired, nothing paid',
}

function orderRow(order: ShownOrder, isLinked: boolean, actions: OrderActions): HTMLElement {
  const { id, status, shortfall = 0 } = order
  const buttons: HTMLElement[] = []
  const offer = (name: string, action: () => void, kind: string) => {
    const button = make(
      'button',
      { class: `button small ${kind}`, 'data-key': `${id} ${name}` },
      name,
      unseen(` ${order.productName}`),
    )
    button.addEventListener('click', action)
    buttons.push(button)
  }
  const isShort = status === 'refused' && !order.isCovered
  if (isShort && isLinked) offer(`Add ${money(shortfall)}`, () => actions.addMoney(order), '')
  if (status === 'open') offer('Pay', () => actions.pay(id), '')
  if (status === 'paying' || status === 'reserving') offer('Ask again', () => actions.pay(id), '')
  if (status === 'refused') offer('Try again', () => actions.pay(id), isShort ? 'soft' : '')
  if (status === 'paid') offer('Refund', () => actions.refund(id), 'soft')
  if (status === 'refunding') offer('Ask again', () => actions.refund(id), '')
  if (status === 'reserved') offer('Ship it', () => actions.ship(id), '')
  if (status === 'reserved') offer('Cancel', () => actions.cancel(id), 'soft')
  if (status === 'shipping') offer('Ask again', () => actions.ship(id), '')
  if (status === 'cancelling') offer('Ask again', () => actions.cancel(id), '')
  if (status === 'cancelled' || status === 'expired') offer('Order again', () => actions.pay(id), 'soft')
  if (status === 'refunded') offer('Pay again', () => actions.pay(id), 'soft')
  return make(
    'li',
    { class: `order ${status}`, 'data-order': id },
    make(
      'div',
      { class: 'order-what' },
      make('strong', {}, order.productName),
      make('span', { class: 'quiet small' }, id),
    ),
    make('span', { class: 'price' }, money(order.amount)),
    make('span', { class: `state ${status}` }, isShort ? `Short by ${money(shortfall)}` : coveredWords(order)),
    make('div', { class: 'order-do' }, ...buttons),
  )
}

function coveredWords({ status, isCovered, reservedUntil }: ShownOrder): string {
  if (reservedUntil)
    return `Reserved until ${new Date(reservedUntil).toLocaleDateString('en', { month: 'short', day: 'numeric' })}`
  return status === 'refused' && isCovered ? 'Enough in the wallet now' : words[status]
}

function unseen(text: string): HTMLElement {
  return make('span', { class: 'unseen' }, text)
}

export function showOutcome(outcome: Outcome, state: ShopState): void {
  const order = 'orderId' in outcome ? state.orders.find(({ id }) => id === outcome.orderId) : undefined
  const what = order?.productName ?? 'order'
  switch (outcome.kind) {
    case 'fine':
    case 'placed':
      return
    case 'linked':
      return notify('good', 'Your wallet is linked to this shop.')
    case 'unlinked':
      return notify('good', 'The link is removed. Your wallet and your money have not changed.')
    case 'given':
      return notify('good', 'The gift is in your wallet. Watch the balance.')
    case 'given-before':
      return notify('info', 'This wallet already has its gift: the reference was used before, and no money moved.')
    case 'paid':
      return notify('good', `Paid. The ${what} is yours.`)
    case 'paid-once':
      return notify(
        'good',
        `Paid, and only once: the answer was lost, the same reference was sent again, and the first answer came back.`,
      )
    case 'reserved':
      return notify('good', `Reserved. The money for the ${what} stays in your wallet until it ships.`)
    case 'reserved-once':
      return notify('good', `Reserved, and only once, although the first answer was lost.`)
    case 'shipped':
      return notify('good', `Shipped, and paid now. The ${what} is yours.`)
    case 'cancelled':
      return notify('good', `Cancelled. You can spend the money for the ${what} again.`)
    case 'expired':
      return notify('warn', `The reservation of the ${what} has expired. Nothing was paid, and it does not ship.`)
    case 'refused':
      return notify(
        'warn',
        `The wallet is short by ${money(order?.shortfall ?? 0)} for the ${what}. Add that much, and the order is paid automatically.`,
      )
    case 'refunded':
      return notify('good', `The money for the ${what} is back in the wallet that paid.`)
    case 'refunded-once':
      return notify('good', `Refunded, and only once, although the first answer was lost.`)
    case 'not-linked':
      return notify('info', 'First link a wallet: sign up or sign in under “Your wallet”. Then press Pay.')
    case 'unknown':
      return notify(
        'warn',
        'The wallet service has not answered, so the outcome is not known yet. Ask again: you cannot pay twice.',
      )
    case 'failed':
      return notify('bad', `${outcome.message}${outcome.requestId ? ` (${outcome.requestId})` : ''}`)
  }
}

let hiding: ReturnType<typeof setTimeout>

export function notify(kind: 'good' | 'info' | 'warn' | 'bad', text: string): void {
  const notice = byId('notice')
  notice.className = `notice ${kind}`
  notice.textContent = text
  clearTimeout(hiding)
  hiding = setTimeout(() => {
    notice.textContent = ''
  }, 12_000)
}
