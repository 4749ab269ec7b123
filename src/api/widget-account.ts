/** The account of a session's user: reading, changing and deleting it. */
import { z } from 'zod'
import { changeLanguage, changeNames, readAccount } from '../actions/people/change-account.ts'
import { beginEmailChange, confirmEmailChange } from '../actions/people/change-email.ts'
import { changePassword } from '../actions/people/change-password.ts'
import { deleteAccount, findKeptReason, keptReasons } from '../actions/people/delete-account.ts'
import type { Service } from '../actions/service.ts'
import { languages } from '../languages/languages.ts'
import { answer, refuse, refuseFor } from './reply.ts'
import type { Route } from './route.ts'
import { timestamp } from './shapes.ts'
import { accountAccessRoutes } from './widget-account-access.ts'
import { toProvedRefusal } from './widget-call.ts'
import { sessionRoute } from './widget-session-route.ts'
import { widgetMailRoutes } from './widget-mails.ts'
import * as shape from './widget-shapes.ts'

/** Not an enum in the API description: a new language must not break clients generated from it. */
const language = z
  .string()
  .refine((code) => languages.has(code), `must be one of ${[...languages.keys()].join(', ')}`)
  .meta({
    pattern: '^[a-z]{2,3}$',
    description:
      'The code of a language of the hosted pages and of mails. `lang` in the address of a page takes precedence',
  })

const account = z
  .object({
    email: z.string(),
    firstName: z.string(),
    lastName: z.string(),
    language: language.nullable().describe('Null when the user has not chosen one'),
    hasPassword: z
      .boolean()
      .describe('False when the email signed up twice with different passwords, so none was stored'),
    createdAt: timestamp,
    keptReason: z
      .enum(keptReasons)
      .nullable()
      .describe('Why the account cannot be deleted now; null when it can be deleted'),
  })
  .meta({ id: 'Account' })

const done = z.object({ done: z.literal(true) }).meta({ id: 'Done' })
const isDone = { done: true } as const
const examplePassword = 'seven tired llamas'

export function widgetAccountRoutes(service: Service): Route[] {
  return [
    accountRoute(service),
    namesRoute(service),
    languageRoute(service),
    passwordRoute(service),
    emailRoute(service),
    confirmEmailRoute(service),
    deleteRoute(service),
    ...accountAccessRoutes(service),
    ...widgetMailRoutes(service),
  ]
}

function accountRoute(service: Service): Route {
  return sessionRoute(service, shape.sessionQuery, {
    method: 'GET',
    path: '/api/widget/account',
    proof: 'person',
    summary: 'Read the account',
    output: account,
    example: {
      input: { session: shape.exampleIds.sessionToken },
      output: {
        email: shape.exampleIds.email,
        firstName: 'Ada',
        lastName: 'Lovelace',
        language: null,
        hasPassword: true,
        createdAt: '2026-01-31T12:00:00.000Z',
        keptReason: 'balance',
      },
    },
    run: async (session) => {
      const user = await readAccount(service, session)
      if (!user) return refuse('INVALID_SESSION')
      const { email, firstName, lastName, language, passwordHash, createdAt } = user
      return answer({
        email,
        firstName,
        lastName,
        language,
        hasPassword: passwordHash !== null,
        createdAt: createdAt.toISOString(),
        keptReason: (await findKeptReason(service.db.pool, user.id)) ?? null,
      })
    },
  })
}

function namesRoute(service: Service): Route {
  const { firstName, lastName } = shape
  return sessionRoute(service, z.object({ firstName, lastName }), {
    method: 'POST',
    path: '/api/widget/account/names',
    proof: 'person',
    summary: 'Change the names',
    output: done,
    example: { input: { firstName: 'Ada', lastName: 'Lovelace' }, output: isDone },
    run: async (session, input, { address }) => {
      await changeNames(service, session, { ...input, address })
      return answer(isDone)
    },
  })
}

function languageRoute(service: Service): Route {
  return sessionRoute(service, z.object({ language }), {
    method: 'POST',
    path: '/api/widget/account/language',
    proof: 'person',
    summary: 'Choose a language',
    output: done,
    example: { input: { language: 'de' }, output: isDone },
    run: async (session, input) => {
      await changeLanguage(service, session, input.language)
      return answer(isDone)
    },
  })
}

function passwordRoute(service: Service): Route {
  return sessionRoute(service, z.object({ password: shape.password, newPassword: shape.password }), {
    method: 'POST',
    path: '/api/widget/account/password',
    proof: 'presence',
    hasPassword: true,
    summary: 'Change the password',
    description: 'Ends all other sessions of the user; other apps need a new sign-in before they can open the wallet.',
    output: done,
    errors: ['INVALID_CREDENTIALS', 'WEAK_PASSWORD', 'RATE_LIMITED'],
    example: { input: { password: examplePassword, newPassword: 'eight merry otters' }, output: isDone },
    run: async (session, input, from) => {
      const result = await changePassword(service, session, { ...input, ...from })
      if (result.kind === 'weak') return refuse('WEAK_PASSWORD', { fields: { newPassword: result.problem } })
      return toProvedRefusal(result) ?? answer(isDone)
    },
  })
}

function emailRoute(service: Service): Route {
  return sessionRoute(service, z.object({ email: shape.email }), {
    method: 'POST',
    path: '/api/widget/account/email',
    proof: 'presence',
    summary: 'Request a change of the email; codes are mailed to both addresses',
    description:
      'The answer is the same for an email that already has an account; the owner of that account gets a mail about it.',
    status: 202,
    output: z.object({ next: z.literal('confirm') }),
    errors: ['RATE_LIMITED'],
    example: { input: { email: 'ada@example.org' }, output: { next: 'confirm' } },
    run: async (session, { email }, { address, lang }) => {
      const result = await beginEmailChange(service, session, { email, address, lang })
      if (result.kind === 'limited') return refuseFor(result.retryAfterSeconds)
      if (result.kind === 'same')
        return refuse('INVALID_REQUEST', { fields: { email: 'is the email of this account' } })
      return { status: 202, body: { next: 'confirm' } }
    },
  })
}

function confirmEmailRoute(service: Service): Route {
  const schema = z.object({
    email: shape.email,
    oldCode: shape.mailedCode.describe('The code mailed to the current address'),
    newCode: shape.mailedCode.describe('The code mailed to the new address'),
  })
  return sessionRoute(service, schema, {
    method: 'POST',
    path: '/api/widget/account/email/confirm',
    proof: 'person',
    summary: 'Confirm the change of the email with both codes',
    description: 'Each code works once, for fifteen minutes. Repeating a confirmed change answers success again.',
    output: done,
    errors: ['INVALID_CODE', 'RATE_LIMITED'],
    example: { input: { email: 'ada@example.org', oldCode: '204863', newCode: '917240' }, output: isDone },
    run: async (session, input, { address }) => {
      const result = await confirmEmailChange(service, session, { ...input, address })
      if (result.kind === 'limited') return refuseFor(result.retryAfterSeconds)
      return result.kind === 'changed' ? answer(isDone) : refuse('INVALID_CODE')
    },
  })
}

function deleteRoute(service: Service): Route {
  return sessionRoute(service, z.object({ password: shape.password }), {
    method: 'POST',
    path: '/api/widget/account/delete',
    proof: 'presence',
    hasPassword: true,
    summary: 'Delete the account',
    description: [
      'Refused while the wallet holds money or debt or is frozen, or while a dispute or top-up is open; `reason` says which. Afterwards every',
      'serviceUserId of the user is unknown to the service, for debits and credits alike.',
    ].join(' '),
    output: done,
    errors: ['INVALID_CREDENTIALS', 'ACCOUNT_NOT_DELETABLE', 'RATE_LIMITED'],
    example: { input: { password: examplePassword }, output: isDone },
    run: async (session, input, { address }) => {
      const result = await deleteAccount(service, session, { ...input, address })
      if (result.kind === 'kept') return refuse('ACCOUNT_NOT_DELETABLE', { reason: result.reason })
      return toProvedRefusal(result) ?? answer(isDone)
    },
  })
}
