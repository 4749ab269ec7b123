/** Opens the configured card processor; undefined for a service without card top-ups. */
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

/** The service treats the sandbox as a remote processor: it calls back over HTTP. */
type Sandbox = SandboxDeps & {
  /** Sets where this process listens: the system may choose the port. */
  readonly setOrigin: (origin: string) => void
}

export function openCards(config: Config, db: Database, now: () => Date, metrics: Metrics): Cards {
  const { cards } = config
  if (cards.processor === 'sandbox') {
    const sandbox = openSandbox(config, db, now)
    return { cards: counted(createSandboxProcessor(sandbox), metrics), sandbox }
  }
  if (cards.processor !== 'stripe') return { cards: undefined, sandbox: undefined }
  // Stripe's SDK is 218 files and takes 45 ms to load: only a service that uses Stripe loads it, at start and before any payment.
  const { createStripeProcessor } =
    require('../../cards/stripe/stripe.ts') as typeof import('../../cards/stripe/stripe.ts')
  return { cards: counted(createStripeProcessor(stripeSettings(cards)), metrics), sandbox: undefined }
}

/** Counts every call by whether the processor answered: the metric shows an outage. */
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
    // The same in every process. A forged sandbox webhook only makes us ask the sandbox about a payment.
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
