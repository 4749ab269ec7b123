/** The two pages of the shop. `html` escapes every value; only the shop's own drawings are inserted as markup. */
import { html, raw } from 'hono/html'
import type { ShopConfig } from './config.ts'
import { products, type Product } from './products.ts'
import type { ShopUser } from './store.ts'
import { giftAmount } from './wallet.ts'

/** Ready-made users, so that a visitor can try two users with one wallet without inventing names. */
const regulars = ['Ada', 'Ben', 'Chiyo'] as const

export const maxNameLength = 40

type Body = ReturnType<typeof html>

function shell(title: string, body: Body) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content="A demo shop that shows how an app uses a Billfold wallet." />
        <title>${title}</title>
        <link rel="icon" href="/moon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/style.css" />
      </head>
      <body>
        ${body}
      </body>
    </html>`
}

export const moon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="#2a2145"/><path d="M20 6a10 10 0 1 0 7 15A12 12 0 0 1 20 6z" fill="#f6c667"/></svg>`

const wordmark = html`<span class="wordmark">${raw(moon.replace('<svg', '<svg aria-hidden="true"'))} Small Hours</span>`

export function signInPage(problem?: string) {
  return shell(
    'Sign in · Small Hours',
    html`<div class="door-sky" aria-hidden="true"></div>
      <main class="door">
        ${wordmark}
        <h1>Who is up this late?</h1>
        <p>
          This is a demo shop. Like every shop it has its own users, and it asks for no password. The wallet they pay
          with belongs to another service and has its own account.
        </p>
        ${problem ? html`<p class="problem" role="alert">${problem}</p>` : ''}
        <form method="post" action="/sign-in" class="regulars" aria-label="Sign in as a regular">
          ${regulars.map(
            (name) =>
              html`<button name="name" value="${name}">
                <span class="face" aria-hidden="true">${name[0]}</span>${name}
              </button>`,
          )}
        </form>
        <form method="post" action="/sign-in" class="newcomer">
          <label for="name">Someone new</label>
          <div class="pair">
            <input
              id="name"
              name="name"
              required
              maxlength="${maxNameLength}"
              autocomplete="off"
              placeholder="Your name"
            />
            <button class="button">Come in</button>
          </div>
        </form>
      </main>`,
  )
}

export function shopPage(config: ShopConfig, user: ShopUser) {
  const money = new Intl.NumberFormat('en', {
    style: 'currency',
    currency: config.currency,
    trailingZeroDisplay: 'stripIfInteger',
  })
  return shell(
    'Small Hours: things for quiet evenings',
    html`<a class="skip" href="#shelf">Skip to the products</a>
      <header class="top">
        ${wordmark}
        <div class="who">
          <span class="purse" id="purse" hidden
            ><span class="quiet">Wallet</span> <strong id="purse-balance"></strong
          ></span>
          <span><span class="quiet">Signed in as</span> <strong>${user.name}</strong></span>
          <form method="post" action="/sign-out"><button class="plain">Change user</button></form>
        </div>
      </header>
      <main
        id="shop"
        data-billfold-url="${config.billfold.baseUrl}"
        data-client-id="${config.billfold.clientId}"
        data-currency="${config.currency}"
      >
        <div class="hero">
          <div>
            <h1>Things for quiet evenings</h1>
            <p class="lead">
              A demo shop: nothing is shipped, but every payment is real in the ledger of the wallet service.
              <a href="#story">What just happened</a> explains each step.
            </p>
          </div>
          ${tour(money.format(giftAmount))}
        </div>
        <div class="columns">
          <section class="wallet" aria-labelledby="wallet-title">
            <div class="head">
              <h2 id="wallet-title" tabindex="-1">Your wallet</h2>
              <span class="quiet small">a page of the wallet service, in a frame</span>
            </div>
            <div id="wallet"></div>
            <p class="wallet-foot quiet small" id="not-linked" hidden>
              New here? Create an account in the frame. In development no mail is sent: the code is in the log of the
              service. Or sign in as the demo user that the service printed when it started.
            </p>
            <div class="wallet-foot" id="linked" hidden>
              <button class="button soft" id="gift">Take the welcome gift of ${money.format(giftAmount)}</button>
              <button class="plain" id="unlink">Unlink this wallet</button>
            </div>
          </section>
          <div class="left">
            <section id="shelf" aria-labelledby="shelf-title" tabindex="-1">
              <div class="head">
                <h2 id="shelf-title">On the shelf</h2>
                <label class="switch">
                  <input type="checkbox" id="lose" role="switch" aria-describedby="lose-hint" />
                  <span>Lose the next answer</span>
                </label>
              </div>
              <p class="quiet small" id="lose-hint">
                When this is on, the answer to your next payment or refund is lost on its way, as when a connection
                breaks. You still do not pay twice.
              </p>
              <ul class="shelf" role="list">
                ${products.map((product) => card(product, money.format(product.price)))}
              </ul>
            </section>
            <section aria-labelledby="orders-title">
              <h2 id="orders-title" tabindex="-1">Your orders</h2>
              <ul id="orders" class="orders" role="list"></ul>
              <p id="no-orders" class="empty">
                Nothing yet. Buy something above: it is paid from the wallet in one click.
              </p>
            </section>
          </div>
          <div class="side">
            <section class="record" aria-labelledby="record-title">
              <h2 id="record-title">What the shop stores about you</h2>
              <pre id="record"></pre>
              <p class="quiet small" id="record-hint"></p>
            </section>
            <section id="story" aria-labelledby="story-title" tabindex="-1">
              <div class="head">
                <h2 id="story-title">What just happened</h2>
                <button class="plain" id="forget">Clear</button>
              </div>
              <ol id="steps" class="story" reversed tabindex="0" role="list" aria-labelledby="story-title"></ol>
            </section>
          </div>
        </div>
      </main>
      <footer class="foot">
        <p>
          The code of this shop is in <code>example/</code>. The whole integration is <code>wallet.ts</code> in the
          backend and <code>browser/shop.ts</code> in the page.
        </p>
      </footer>
      <div id="notice" class="notice" role="status" aria-live="polite"></div>
      <noscript><p class="notice bad">The wallet in this page needs JavaScript.</p></noscript>
      <script type="module" src="/shop.js"></script>`,
  )
}

function card(product: Product, price: string) {
  return html`<li class="product" data-product="${product.id}">
    <svg class="drawing" viewBox="0 0 240 180" aria-hidden="true">${raw(product.drawing)}</svg>
    <div class="label">
      <h3>${product.name}</h3>
      <p class="quiet small">${product.line}</p>
    </div>
    <div class="buy">
      <span class="price">${price}</span>
      <button class="button" data-buy="${product.id}">
        ${product.isPreOrder ? 'Pre-order' : 'Buy'}<span class="unseen"> the ${product.name}</span>
      </button>
    </div>
  </li>`
}

function tour(gift: string) {
  const stops: readonly (readonly [string, string])[] = [
    ['linked', 'Link a wallet: sign up, or sign in, in the frame'],
    ['given', `Take the welcome gift of ${gift}, and watch the balance`],
    ['paid', 'Buy a mug'],
    ['refused', 'Buy what you cannot afford, and add the rest'],
    ['refunded', 'Ask for a refund'],
    ['replayed', 'Lose an answer, and pay only once'],
    ['shared', 'Come back as another user, with the same wallet'],
    ['unlinked', 'Unlink it'],
  ]
  return html`<details class="tour" id="tour">
    <summary><h2>The tour</h2></summary>
    <ol role="list">
      ${stops.map(([id, text]) => html`<li data-stop="${id}"><span class="tick" aria-hidden="true"></span>${text}<span class="unseen done-word"></span></li>`)}
    </ol>
  </details>`
}
