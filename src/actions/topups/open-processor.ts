/** The card processor that the configuration names; undefined for a service without card top-ups. */
import { randomUUID } from 'node:crypto'
import type { CardProcessor } from '../../cards/processor.ts'
import { createSandboxProcessor } from '../../cards/sandbox/sandbox.ts'
import type { SandboxDeps } from '../../cards/sandbox/change.ts'
import { createStripeProcessor, type StripeSettings } from '../../cards/stripe/stripe.ts'
import type { CardConfig, Config } from '../../config.ts'
import { parseCurrency } from '../../ledger/money.ts'
import type { Database } from '../../store/database.ts'
import { openSandboxPayments } from '../../store/sandbox-payments.ts'

export const sandboxPath = '/sandbox'

export type Cards = { readonly cards: CardProcessor | undefined; readonly sandbox: Sandbox | undefined }

/** The sandbox is a processor and, to the rest of the service, a remote one: it calls back over HTTP. */
type Sandbox = SandboxDeps & {
  /** Where this process listens, once it does: a port may be chosen by the system. */
  readonly setOrigin: (origin: string) => void
}

export function openCards(config: Config, db: Database, now: () => Date): Cards {
  const { cards } = config
  if (cards.processor === 'sandbox') {
    const sandbox = openSandbox(config, db, now)
    return { cards: createSandboxProcessor(sandbox), sandbox }
  }
  if (cards.processor !== 'stripe') return { cards: undefined, sandbox: undefined }
  return { cards: createStripeProcessor(stripeSettings(cards)), sandbox: undefined }
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
    store: openSandboxPayments(db.pool),
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
