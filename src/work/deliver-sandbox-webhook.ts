/** Sends the due webhooks of a sandbox payment, and applies its scheduled change. */
import { deliverDue } from '../../sandbox/deliver.ts'
import { done, single, usual, type Kind } from './kind.ts'

export const deliverSandboxWebhook: Kind = {
  ...usual,
  ...single(async ({ sandbox }, { key }) => {
    const afterMs = sandbox && (await deliverDue(sandbox, key))
    return afterMs === undefined ? done : { kind: 'again', afterMs }
  }),
  name: 'deliver-sandbox-webhook',
  concurrency: 50,
  pollMs: 250,
  withinMs: 30_000,
  leaseMs: 45_000,
  retryAfterMs: () => 1_000,
}
