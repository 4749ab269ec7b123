/** Sends a mail to an operator. The token of a link is made here: the database has only its hash, and the mailbox the link. */
import { linkMs, newLink } from '../actions/operators/apply-change.ts'
import { describeChange, nameActor } from '../actions/operators/describe-change.ts'
import { roleNames, roleTexts } from '../actions/operators/rights.ts'
import { maskError } from '../actions/webhooks/describe-endpoint.ts'
import { writeOperatorLetter, type OperatorMail } from '../actions/mails/operator-letters.ts'
import type { Letter } from '../actions/mails/letter.ts'
import { timeText } from '../actions/mails/write-letters.ts'
import type { Delivered } from '../actions/mails/send-mail.ts'
import type { Service } from '../actions/service.ts'
import { chooseLanguage } from '../languages/languages.ts'
import { findApp } from '../store/apps.ts'
import { findEndpoint } from '../store/events/endpoints.ts'
import { findChange } from '../store/operator-access/operator-changes.ts'
import { updateInviteMailed, updateInviteToken } from '../store/operator-access/operator-invites.ts'
import { listOperators } from '../store/operators.ts'
import type { Piece } from '../store/work/work.ts'
import { done, single, usual, type Ended, type Kind } from './kind.ts'

/** With its back-off about a day. */
const maxAttempts = 8

async function send(service: Service, { payload, attempts, createdAt }: Piece): Promise<Ended> {
  const mail = payload as OperatorMail
  const written = await write(service, mail, createdAt)
  if (!written) return done
  const result = await service.mail.deliver({ ...written, language: chooseLanguage('en') })
  if (result === 'sent') {
    if (mail.kind === 'link') await updateInviteMailed(service.db.pool, mail.inviteId)
    return done
  }
  if (result === 'away' && attempts < maxAttempts)
    return { kind: 'again', afterMs: retryAfterMs(attempts), error: errors.away, isAway: true }
  return { kind: 'given-up', error: errors[result] }
}

const errors: Readonly<Record<Exclude<Delivered, 'sent'>, string>> = {
  away: 'The mail server did not take it; the log says why.',
  refused: 'The mail server refused it; the log says why.',
  unsure: 'The connection broke while the mail server took it: it may have arrived.',
}

/** Undefined when there is nothing to send any more: the link was revoked, the change was decided. */
async function write(
  { db, config }: Service,
  mail: OperatorMail,
  at: Date,
): Promise<{ to: string; letter: Letter } | undefined> {
  const operators = await listOperators(db.pool)
  const nameOf = (actor: string | null) => (actor === null ? null : nameActor(actor, operators))
  if (mail.kind === 'link') {
    const { path, tokenHash } = newLink()
    const invite = await updateInviteToken(db.pool, mail.inviteId, { tokenHash, lifetimeMs: linkMs })
    if (!invite?.email) return undefined
    const url = `${config.publicUrl}${path}`
    const name = operators.find(({ id }) => id === invite.operatorId)?.name ?? null
    const role = { roleName: roleNames[invite.role], roleText: roleTexts[invite.role] }
    const content = invite.operatorId
      ? ({ kind: 'reset-link', url } as const)
      : ({ kind: 'invitation', ...role, url } as const)
    const facts = { name, by: nameOf(invite.createdBy)!, approvedBy: nameOf(invite.approvedBy), at }
    return { to: invite.email, letter: writeOperatorLetter(config, content, facts) }
  }
  const operator = operators.find(({ id }) => id === mail.operatorId)
  if (!operator) return undefined
  const { name, email: to } = operator
  if (mail.kind === 'endpoint-failing') {
    const endpoint = await findEndpoint(db.pool, mail.endpointId)
    // The failure has ended meanwhile.
    if (!endpoint?.failingSince && endpoint?.disabledFor !== 'gone') return undefined
    const content = {
      kind: mail.kind,
      app: (await findApp(db.pool, endpoint.clientId))?.name ?? endpoint.clientId,
      host: new URL(endpoint.url).host,
      since: timeText((endpoint.failingSince ?? endpoint.disabledAt!).toISOString(), 'en'),
      error: maskError(endpoint.lastError ?? ''),
      isDisabled: endpoint.disabledAt !== null,
      url: `${config.publicUrl}/admin/client-apps/${endpoint.clientId}/endpoints/${endpoint.id}`,
    }
    return { to, letter: writeOperatorLetter(config, content, { name, by: config.about.name, approvedBy: null, at }) }
  }
  if (mail.kind !== 'change-waiting') {
    const facts = { name, by: nameOf(mail.by)!, approvedBy: nameOf(mail.approvedBy), at }
    const content = { kind: mail.kind, roleName: roleNames[mail.role] }
    return { to, letter: writeOperatorLetter(config, content, facts) }
  }
  const waiting = await findChange(db.pool, mail.changeId)
  if (waiting?.state !== 'waiting') return undefined
  const change = describeChange(waiting.change, operators)
  const content = { kind: mail.kind, change, url: `${config.publicUrl}/admin/operators` }
  const facts = { name, by: nameOf(waiting.askedBy)!, approvedBy: null, at }
  return { to, letter: writeOperatorLetter(config, content, facts) }
}

const retryAfterMs = (attempts: number) => Math.min(30_000 * 4 ** (attempts - 1), 6 * 60 * 60_000)

export const sendOperatorMail: Kind = {
  ...usual,
  ...single(send),
  name: 'send-operator-mail',
  concurrency: 2,
  isAtMostOnce: true,
  retryAfterMs,
}
