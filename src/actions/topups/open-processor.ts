/** The card processor that the configuration names; undefined for a service without card top-ups. */
import { randomUUID } from 'node:crypto'
import { ProcessorUnavailable, type CardProcessor } from '../../cards/processor.ts'
import { createSandboxProcessor } from '../../../sandbox/sandbox.ts'
import type { SandboxDeps } from '../../../sandbox/change.ts'
import type { StripeSettings } from '../../cards/stripe/stripe.ts'
import type { CardConfig, Config } from '../../config.ts'
import { parseCurrency } from '../../ledger/money.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { Database } from '../../store/connection/database.ts'
import { openSandboxPayments } from '../../store/sandbox-payments.ts'

export const sandboxPath = '/sandbox'

export type Cards = { readonly cards: CardProcessor | undefined; readonly sandbox: Sandbox | undefined }

/** The sandbox is a processor and, to the rest of the service, a remote one: it calls back over HTTP. */
type Sandbox = SandboxDeps & {
  /** Where this process listens, once it does: a port may be chosen by the system. */
  readonly setOrigin: (origin: string) => void
}

export function openCards(config: Config, db: Database, now: () => Date, metrics: Metrics): Cards {
  const { cards } = config
  if (cards.processor === 'sandbox') {
    const sandbox = openSandbox(config, db, now)
    return { cards: counted(createSandboxProcessor(sandbox), metrics), sandbox }
  }
  if (cards.processor !== 'stripe') return { cards: undefined, sandbox: undefined }
  // Stripe's SDK is 218 files, 45 ms of a start: it is loaded where it is configured alone, and then before any payment.
  const { createStripeProcessor } =
    require('../../cards/stripe/stripe.ts') as typeof import('../../cards/stripe/stripe.ts')
  return { cards: counted(createStripeProcessor(stripeSettings(cards)), metrics), sandbox: undefined }
}

/** Everything that goes to the processor is counted by whether it answered: that is how anybody knows that it is away. */
function counted(cards: CardProcessor, metrics: Metrics): CardProcessor {
  const count =
    <Order, Said>(ask: (order: Order) => Promise<Said>) =>
    async (order: Order): Promise<Said> => {
      try {
        const said = await ask(order)
        metrics.processor('answered')
        return said
      } catch (error) {
        if (error instanceof ProcessorUnavailable) metrics.processor('away')
        throw error
      }
    }
  return {
    ...cards,
    createPayment: count((order) => cards.createPayment(order)),
    retrievePayment: count((id) => cards.retrievePayment(id)),
    refundPayment: count((order) => cards.refundPayment(order)),
    cancelPayment: count((id) => cards.cancelPayment(id)),
    listLines: count((span) => cards.listLines(span)),
  }
}

export function stripeSettings({
  secretKey,
  publishableKey,
  webhookSecret,
  apiUrl,
}: Extract<CardConfig, { processor: 'stripe' }>): StripeSettings {
  return { secretKey, publishableKey, webhookSecret, decimalsOf, ...(apiUrl && { api: addressOf(apiUrl) }) }
}

export function decimalsOf(currency: string): number {
  return parseCurrency(currency)?.decimals ?? 2
}

function openSandbox(config: Config, db: Database, now: () => Date): Sandbox {
  let origin = config.publicUrl
  return {
    store: openSandboxPayments(db),
    webhookUrl: () => `${origin}/api/processor/sandbox`,
    // The same in every process. Whoever forges a webhook of the sandbox only makes us look at a payment.
    webhookSecret: 'whsec_sandbox',
    now,
    newId: () => randomUUID().replaceAll('-', ''),
    basePath: sandboxPath,
    setOrigin: (listening) => (origin = listening),
  }
}

function addressOf(url: string): NonNullable<StripeSettings['api']> {
  const { protocol, hostname, port } = new URL(url)
  const isHttps = protocol === 'https:'
  return { protocol: isHttps ? 'https' : 'http', host: hostname, port: Number(port) || (isHttps ? 443 : 80) }
}
