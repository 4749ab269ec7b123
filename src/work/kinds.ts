import type { Service } from '../actions/service.ts'
import { deliverEvent } from './deliver-event.ts'
import { expireHolds } from './expire-holds.ts'
import { deliverSandboxWebhook } from './deliver-sandbox-webhook.ts'
import { findFirstPayment } from './find-first-payment.ts'
import type { Kind } from './kind.ts'
import { postBonus } from './post-bonus.ts'
import { postCorrection } from './post-correction.ts'
import { publishCheckpoint } from './publish-checkpoint.ts'
import { reconcileDay } from './reconcile-day.ts'
import { resolveTopup } from './resolve-topup.ts'
import { sendFarewell } from './send-farewell.ts'
import { sendMail } from './send-mail.ts'
import { sendOperatorMail } from './send-operator-mail.ts'

const kinds: readonly Kind[] = [
  resolveTopup,
  sendMail,
  sendFarewell,
  sendOperatorMail,
  reconcileDay,
  postCorrection,
  postBonus,
  findFirstPayment,
  deliverSandboxWebhook,
  deliverEvent,
  expireHolds,
  publishCheckpoint,
]

/** Without a sandbox only leftover webhook work is removed, so a slow poll is enough. */
export function kindsOf({ sandbox }: Pick<Service, 'sandbox'>): readonly Kind[] {
  return sandbox ? kinds : kinds.map((kind) => (kind === deliverSandboxWebhook ? { ...kind, pollMs: 60_000 } : kind))
}
