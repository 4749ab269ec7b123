import { shownMoney, type SandboxPageDeps } from './sandbox-page.tsx'
import type { SandboxPayment } from './payment.ts'
import type { Way } from './payer-routes.tsx'
import { testCards, type TypedCard } from './test-cards.ts'

type FormProps = {
  deps: SandboxPageDeps
  payment: SandboxPayment
  way: Way
  mistake?: { field: keyof TypedCard | undefined; message: string } | undefined
}

/** Every payer form sends the right to act on the payment, and the page to return to. */
function HiddenFields({ payment, way }: { payment: SandboxPayment; way: Way }) {
  return (
    <>
      <input type="hidden" name="secret" value={payment.clientSecret} />
      <input type="hidden" name="return" value={way.returnTo} />
      {way.isEmbedded && <input type="hidden" name="embedded" value="1" />}
    </>
  )
}

/**
 * The page never repeats what the payer typed, and asks the browser neither to fill in nor to remember a card: only the test
 * cards listed below the form belong here.
 */
export function CardPage({ deps, payment, way, mistake }: FormProps) {
  // The page around the frame shows the amount and the result of the last card.
  const isTold = way.isEmbedded && mistake?.field === undefined
  return (
    <section class="sandbox-card">
      {way.isEmbedded ? (
        <h1 class="sandbox-hidden">Card details</h1>
      ) : (
        <>
          <h1>Pay {shownMoney(payment.amountMinor, payment.currency, deps)}</h1>
          <p class="sandbox-muted">{payment.description}</p>
        </>
      )}
      {mistake && !isTold && (
        <p class="sandbox-alert notice bad" role="alert" id="mistake">
          {mistake.message}
        </p>
      )}
      <form class="stack" method="post" action={`${deps.basePath}/card/${payment.id}`} autocomplete="off" novalidate>
        <HiddenFields payment={payment} way={way} />
        <CardField
          name="number"
          label="Card number"
          hint="4242 4242 4242 4242"
          wrong={mistake?.field}
          list="test-cards"
        />
        <div class="sandbox-pair">
          <CardField name="expiry" label="Expiry date" hint="MM / YY" wrong={mistake?.field} />
          <CardField name="cvc" label="CVC" hint="123" wrong={mistake?.field} />
        </div>
        <button type="submit" class="button">
          Pay now
        </button>
      </form>
      <TestCardList />
    </section>
  )
}

type FieldProps = {
  name: keyof TypedCard
  label: string
  hint: string
  wrong: keyof TypedCard | undefined
  list?: string
}

function CardField({ name, label, hint, wrong, list }: FieldProps) {
  const isWrong = wrong === name
  return (
    <label class="field">
      <span>{label}</span>
      <input
        name={name}
        type="text"
        inputMode="numeric"
        autocomplete="off"
        placeholder={hint}
        required
        list={list}
        aria-invalid={isWrong ? 'true' : undefined}
        aria-describedby={isWrong ? 'mistake' : undefined}
      />
    </label>
  )
}

function TestCardList() {
  return (
    <details class="sandbox-details">
      <summary>Test cards</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Number</th>
            <th scope="col">What happens</th>
          </tr>
        </thead>
        <tbody>
          {testCards.map((card) => (
            <tr key={card.number}>
              <td>
                <code>{spaced(card.number)}</code>
              </td>
              <td>{card.what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="sandbox-muted">Any expiry date that is not over, any CVC.</p>
      <datalist id="test-cards">
        {testCards.map((card) => (
          <option key={card.number} value={spaced(card.number)} label={card.what} />
        ))}
      </datalist>
    </details>
  )
}

function spaced(number: string): string {
  return number.replaceAll(/(\d{4})(?=\d)/g, '$1 ')
}

export function ChallengePage({ deps, payment, way }: FormProps) {
  return (
    <section class="sandbox-card">
      <p class="sandbox-bank">Sandbox Bank</p>
      <h1>Is this you?</h1>
      <p>A payment with your card waits for you to confirm it.</p>
      <dl class="sandbox-facts">
        <dt>Amount</dt>
        <dd>{shownMoney(payment.amountMinor, payment.currency, deps)}</dd>
        <dt>For</dt>
        <dd>{payment.description}</dd>
      </dl>
      <form class="stack" method="post" action={`${deps.basePath}/challenge/${payment.id}`}>
        <HiddenFields payment={payment} way={way} />
        <button type="submit" name="answer" value="approve" class="button">
          Yes, approve
        </button>
        <button type="submit" name="answer" value="refuse" class="button quiet">
          No, refuse
        </button>
      </form>
    </section>
  )
}
