import { deliveryModes, type Delivery, type DeliveryMode, type SandboxEvent } from './events.ts'
import { shownMoney, type SandboxPageDeps } from './sandbox-page.tsx'
import { paymentView, type SandboxPayment } from './payment.ts'
import type { SandboxSettings } from './settings.ts'

type PanelProps = {
  deps: SandboxPageDeps
  settings: SandboxSettings
  payments: readonly SandboxPayment[]
  problem: string | undefined
}

export function PanelPage({ deps, settings, payments, problem }: PanelProps) {
  return (
    <>
      <div class="sandbox-head">
        <h1>Sandbox panel</h1>
        <a href={`${deps.basePath}/panel`}>Refresh</a>
      </div>
      {problem && (
        <p class="sandbox-alert notice bad" role="alert">
          {problem}
        </p>
      )}
      <SettingsForm deps={deps} settings={settings} />
      {payments.length === 0 && (
        <p class="sandbox-card">No payments yet. Top up a wallet, and the payment appears here.</p>
      )}
      {payments.map((payment) => (
        <PaymentCard key={payment.id} deps={deps} payment={payment} />
      ))}
    </>
  )
}

const modeNames: Record<DeliveryMode, string> = {
  once: 'Once, at once',
  twice: 'Twice',
  late: 'Late',
  'out-of-order': 'Out of order',
  never: 'Never',
}

function SettingsForm({ deps, settings }: Pick<PanelProps, 'deps' | 'settings'>) {
  return (
    <form class="sandbox-card" method="post" action={`${deps.basePath}/panel/settings`}>
      <fieldset>
        <legend>New webhooks are delivered</legend>
        {deliveryModes.map((mode) => (
          <label key={mode} class="sandbox-choice">
            <input type="radio" name="mode" value={mode} checked={settings.mode === mode} /> {modeNames[mode]}
          </label>
        ))}
      </fieldset>
      <label class="sandbox-choice">
        <input type="checkbox" name="outage" value="on" checked={settings.outage} /> The processor is down
      </label>
      <button type="submit" class="button small">
        Apply
      </button>
    </form>
  )
}

function PaymentCard({ deps, payment }: { deps: SandboxPageDeps; payment: SandboxPayment }) {
  const money = (amountMinor: bigint) => shownMoney(amountMinor, payment.currency, deps)
  const view = paymentView(payment, '')
  return (
    <article class="sandbox-card" id={payment.id} aria-labelledby={`${payment.id}-name`}>
      <h2 id={`${payment.id}-name`}>
        {money(payment.amountMinor)} <span class={`sandbox-badge is-${view.status}`}>{words(view.status)}</span>
        {view.disputed !== 'none' && <span class={`sandbox-badge is-${view.disputed}`}>dispute {view.disputed}</span>}
      </h2>
      <dl class="sandbox-facts">
        <dt>Payment</dt>
        <dd>
          <code>{payment.id}</code>
        </dd>
        <dt>Top-up</dt>
        <dd>
          <code>{payment.topupId}</code>
        </dd>
        <dt>Received</dt>
        <dd>{money(view.amountReceivedMinor)}</dd>
        <dt>Refunded</dt>
        <dd>{money(view.refundedMinor)}</dd>
        {payment.decline && <dt>Declined</dt>}
        {payment.decline && <dd>{payment.decline.code}</dd>}
      </dl>
      <PaymentActions deps={deps} payment={payment} />
      {payment.events.length > 0 && <EventTable deps={deps} payment={payment} />}
    </article>
  )
}

function PaymentActions({ deps, payment }: { deps: SandboxPageDeps; payment: SandboxPayment }) {
  const { dispute, later, status, events } = payment
  const action = `${deps.basePath}/panel/payments/${payment.id}`
  return (
    <div class="sandbox-actions">
      {status === 'succeeded' && (!dispute || dispute.state === 'won') && (
        <form method="post" action={`${action}/refund`}>
          <label>
            <span class="sandbox-hidden">Amount to refund, everything when left empty</span>
            <input name="amount" inputMode="decimal" placeholder="everything" size={10} autocomplete="off" />
          </label>
          <button type="submit" class="button quiet small">
            Refund
          </button>
        </form>
      )}
      {status === 'succeeded' && !dispute && <Press action={`${action}/dispute`} label="Dispute" />}
      {dispute?.state === 'open' && <Press action={`${action}/win`} label="Win the dispute" />}
      {dispute?.state === 'open' && <Press action={`${action}/lose`} label="Lose the dispute" />}
      {later && (
        <Press action={`${action}/hasten`} label={later.outcome === 'disputed' ? 'Dispute now' : 'Finish now'} />
      )}
      {events.length > 1 && <Press action={`${action}/reverse`} label="Deliver all again, newest first" />}
    </div>
  )
}

function Press({ action, label, about }: { action: string; label: string; about?: string }) {
  return (
    <form method="post" action={action}>
      <button type="submit" class="button quiet small">
        {label}
        {about && <span class="sandbox-hidden"> {about}</span>}
      </button>
    </form>
  )
}

function EventTable({ deps, payment }: { deps: SandboxPageDeps; payment: SandboxPayment }) {
  return (
    <div class="sandbox-scroll" tabIndex={0} role="region" aria-label={`Webhooks of ${payment.id}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Webhook</th>
            <th scope="col">Made</th>
            <th scope="col">Deliveries</th>
            <th scope="col">Deliver</th>
          </tr>
        </thead>
        <tbody>
          {payment.events.map((event) => (
            <EventRow
              key={event.id}
              base={`${deps.basePath}/panel/payments/${payment.id}/events/${event.id}`}
              event={event}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function EventRow({ base, event }: { base: string; event: SandboxEvent }) {
  const made = new Date(event.createdAt).toISOString()
  return (
    <tr>
      <th scope="row">{event.type}</th>
      <td>
        <time dateTime={made}>{made.slice(11, 19)}</time>
      </td>
      <td>{event.deliveries.map((delivery) => describeDelivery(delivery)).join(', ')}</td>
      <td>
        <div class="sandbox-actions">
          <Press action={`${base}/now`} label="Now" about={event.type} />
          <Press action={`${base}/late`} label="Late" about={event.type} />
          {event.deliveries.some(({ state }) => state === 'waiting') && (
            <Press action={`${base}/never`} label="Never" about={event.type} />
          )}
        </div>
      </td>
    </tr>
  )
}

function describeDelivery({ state, attempts, answered, dueAt }: Delivery): string {
  if (state === 'held') return 'held back'
  if (state === 'waiting' && attempts === 0) return `waiting until ${new Date(dueAt).toISOString().slice(11, 19)}`
  const answer = answered === 0 ? 'no answer' : (answered ?? 'under way')
  return `${words(state)} (${answer}, ${attempts === 1 ? '1 attempt' : `${attempts} attempts`})`
}

function words(name: string): string {
  return name.replaceAll(/[_-]/g, ' ')
}
