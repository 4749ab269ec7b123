/** Mails to operators, in English like the admin area. */
import type { Config } from '../../config.ts'
import type { Queryable } from '../../store/connection/database.ts'
import type { Role } from '../../store/operators.ts'
import { linkMailKey } from '../../store/operator-access/operator-invites.ts'
import { addWork } from '../../store/work/work.ts'
import type { Service } from '../service.ts'
import { newId } from '../tokens.ts'
import type { Letter } from './letter.ts'
import { safeText, timeText } from './write-letters.ts'

export type NoticeKind =
  | 'reset'
  | 'renewed'
  | 'role'
  | 'removed'
  | 'suspended'
  | 'restored'
  | 'connected'
  | 'disconnected'
  | 'emergency-sign-in'

/** The stored form. It has ids instead of names and no token: the link of a mail is made when the mail is sent. */
export type OperatorMail =
  | { readonly kind: 'link'; readonly inviteId: string }
  | { readonly kind: 'change-waiting'; readonly operatorId: string; readonly changeId: string }
  | {
      readonly kind: 'endpoint-failing'
      readonly operatorId: string
      readonly endpointId: string
      /** After an hour, after a day, when it was disabled. */
      readonly stage: 1 | 2 | 3
    }
  | {
      readonly kind: NoticeKind
      readonly operatorId: string
      /** Actors, as in the audit log. */
      readonly by: string
      readonly approvedBy: string | null
      readonly role: Role
    }

/** Call it in the transaction of the cause, and `sendOperatorMailSoon` after the commit. */
export async function addOperatorMail(db: Queryable, mail: OperatorMail): Promise<void> {
  const key = mail.kind === 'link' ? linkMailKey(mail.inviteId) : `${mail.kind}:${newId()}`
  await addWork(db, { kind: 'send-operator-mail', key, payload: mail })
}

export function sendOperatorMailSoon({ wakeUps }: Pick<Service, 'wakeUps'>): void {
  wakeUps.wake('send-operator-mail')
}

/** What the letters say, with names in place of ids. */
export type OperatorLetter =
  | { readonly kind: 'invitation'; readonly roleName: string; readonly roleText: string; readonly url: string }
  | { readonly kind: 'reset-link'; readonly url: string }
  | { readonly kind: 'change-waiting'; readonly change: string; readonly url: string }
  | {
      readonly kind: 'endpoint-failing'
      readonly app: string
      readonly host: string
      readonly since: string
      readonly error: string
      readonly isDisabled: boolean
      readonly url: string
    }
  | { readonly kind: NoticeKind; readonly roleName: string }

export type LetterFacts = {
  readonly name: string | null
  readonly by: string
  readonly approvedBy: string | null
  readonly at: Date
}

export function writeOperatorLetter(
  { about, publicUrl }: Pick<Config, 'about' | 'publicUrl'>,
  letter: OperatorLetter,
  { name, by, approvedBy, at }: LetterFacts,
): Letter {
  const service = about.name
  const { subject, text, after, link, isUrgent = false } = contentOf(letter, service)
  return {
    subject,
    title: subject,
    lines: [...(name === null ? [] : [`Hello ${safeText(name, 40)},`]), text],
    details: [
      ['By', safeText(by)],
      ...(approvedBy === null ? [] : [['Approved by', safeText(approvedBy)] as const]),
      ['Time', timeText(at.toISOString(), 'en')],
    ],
    ...(link && { link }),
    after,
    isUrgent,
    why: `You get this mail because this address belongs to an operator of ${service}, or is invited to become one: ${new URL(publicUrl).host}.`,
  }
}

type Content = {
  readonly subject: string
  readonly text: string
  readonly after: readonly string[]
  readonly link?: Letter['link']
  readonly isUrgent?: boolean
}

const ask = 'If you did not expect this, tell another admin at once, by phone or in person.'
const once = 'The link works once, and for 24 hours. Give it to no other person: it is access in your name.'

function contentOf(letter: OperatorLetter, service: string): Content {
  switch (letter.kind) {
    case 'invitation':
      return {
        subject: `Your invitation to the admin area of ${service}`,
        text: `You are invited to the admin area of ${service} as ${letter.roleName}: ${letter.roleText}.`,
        link: { text: 'Choose a password', url: letter.url },
        after: [once, 'If you do not know what this is about, ignore this mail.'],
      }
    case 'reset-link':
      return {
        subject: `A new password for the admin area of ${service}`,
        text: 'With this link you set a new password and a new second factor. Your present ones work until then.',
        link: { text: 'Choose a new password', url: letter.url },
        after: [once, `Do not use it if you did not ask for it. ${ask}`],
        isUrgent: true,
      }
    case 'reset':
      return {
        subject: `A link for a new password of yours was made at ${service}`,
        text: 'On the command line of the server a person made a link that sets a new password and second factor for your access.',
        after: [ask],
        isUrgent: true,
      }
    case 'renewed':
      return {
        subject: `Your password and second factor at ${service} are new`,
        text: 'A link for a new password was used. All sessions ended, and a new second factor is needed.',
        after: [ask],
        isUrgent: true,
      }
    case 'role':
      return {
        subject: `Your role at ${service} is changed`,
        text: `In the admin area of ${service} you are now ${letter.roleName}.`,
        after: [ask],
      }
    case 'removed':
      return {
        subject: `Your access to the admin area of ${service} is removed`,
        text: 'You can no longer sign in, and your sessions are signed out.',
        after: [ask],
      }
    case 'suspended':
      return {
        subject: `Your access to the admin area of ${service} is suspended`,
        text: 'You cannot sign in, and your sessions are signed out. Two admins can give the access back.',
        after: [ask],
        isUrgent: true,
      }
    case 'restored':
      return {
        subject: `You have access to the admin area of ${service} again`,
        text: `You can sign in again, as ${letter.roleName}.`,
        after: [ask],
      }
    case 'connected':
      return {
        subject: `A company account is connected with your access at ${service}`,
        text: 'You can sign in with it from now on. It replaces an account that was connected before.',
        after: [ask],
        isUrgent: true,
      }
    case 'disconnected':
      return {
        subject: `A company account is no longer connected with your access at ${service}`,
        text: 'You sign in with your password and second factor from now on.',
        after: [ask],
      }
    case 'emergency-sign-in':
      return {
        subject: `An admin signed in with a password at ${service}`,
        text: `The admin area of ${service} is set to the company account alone. A password is for the time when its provider is away.`,
        after: [ask],
        isUrgent: true,
      }
    case 'endpoint-failing':
      return {
        subject: letter.isDisabled
          ? `Webhooks to ${safeText(letter.host, 80)} are switched off at ${service}`
          : `Webhooks to ${safeText(letter.host, 80)} fail at ${service}`,
        text: `Events of ${safeText(letter.app, 80)} could not be delivered to ${safeText(letter.host, 80)} since ${letter.since}. The last answer: ${safeText(letter.error, 300)}`,
        link: { text: 'See the endpoint', url: letter.url },
        after: [
          letter.isDisabled
            ? 'Its events wait. Switch it on again when the receiver works: it goes on where it stood, as long as the events are kept.'
            : 'Its events wait, and the service tries again at least every hour. After five days it switches the endpoint off.',
        ],
        isUrgent: letter.isDisabled,
      }
    case 'change-waiting':
      break
  }
  return {
    subject: `A change of operators at ${service} waits for a second admin`,
    text: `Requested: ${safeText(letter.change, 200)}.`,
    link: { text: 'See the operators', url: letter.url },
    after: ['Approve it only if you know that it is right. Nothing happens until an admin approves it.'],
  }
}
