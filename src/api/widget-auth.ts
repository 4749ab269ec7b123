/** Sign-up and sign-in in the hosted pages. No answer reveals whether an email has an account. */
import { z } from 'zod'
import type { SignedIn } from '../actions/people/manage-links.ts'
import type { Limited } from '../actions/limits.ts'
import { logIn } from '../actions/people/log-in.ts'
import { resendConfirmCode, sendResetCode, type Mailed } from '../actions/people/mail-code.ts'
import { findPasswordProblem } from '../actions/people/password-rules.ts'
import { resetPassword } from '../actions/people/reset-password.ts'
import type { Service } from '../actions/service.ts'
import { confirmEmail, signUp } from '../actions/people/sign-up.ts'
import type { App } from '../store/apps.ts'
import { answer, refuse, refuseFor, type Answer } from './reply.ts'
import type { Route } from './route.ts'
import { fromOf, readPageCall, unlessBusy, type From } from './widget-call.ts'
import { deviceCookie } from './widget-device.ts'
import * as shape from './widget-shapes.ts'

const { clientId, email, codeHandle } = shape
const errors = ['INVALID_CLIENT', 'RATE_LIMITED', ...shape.callErrors, ...shape.bodyErrors] as const
const example = { clientId: shape.exampleIds.clientId, email: shape.exampleIds.email }
const examplePassword = 'seven tired llamas'
const connectedExample = {
  serviceUserId: shape.exampleIds.serviceUserId,
  linkCode: shape.exampleIds.linkCode,
}

export function widgetAuthRoutes(service: Service): Route[] {
  return [
    signUpRoute(service),
    confirmRoute(service),
    resendRoute(service),
    logInRoute(service),
    forgotRoute(service),
    resetRoute(service),
  ]
}

function signUpRoute(service: Service): Route {
  const { password, firstName, lastName } = shape
  return authRoute(service, z.object({ clientId, email, password, firstName, lastName }), {
    path: '/api/widget/auth/sign-up',
    summary: 'Sign up; the service mails a code',
    description:
      'The answer is the same for an email that already has an account; the owner of that account gets a mail about it.',
    status: 202,
    output: next('confirm'),
    errors: ['WEAK_PASSWORD', ...errors],
    example: {
      input: { ...example, password: examplePassword, firstName: 'Ada', lastName: 'Lovelace' },
      output: nextExample('confirm'),
    },
    run: async (app, input, from) => {
      const problem = findPasswordProblem(input.password, input.email)
      if (problem) return refuse('WEAK_PASSWORD', { fields: { password: problem } })
      return toMailedAnswer(await signUp(service, app, { ...input, ...from }), 'confirm')
    },
  })
}

function confirmRoute(service: Service): Route {
  return authRoute(service, z.object({ clientId, email, code: shape.mailedCode, handle: codeHandle }), {
    path: '/api/widget/auth/confirm',
    summary: 'Confirm the email of a sign-up and create the account',
    description: 'A code works once, for fifteen minutes, and only with the handle of the request that mailed it.',
    output: shape.connected,
    setsDevice: true,
    errors: ['INVALID_CODE', ...errors],
    example: { input: { ...example, code: '204863', handle: shape.exampleIds.codeHandle }, output: connectedExample },
    run: async (app, input, from) => toCodeAnswer(await confirmEmail(service, app, { ...input, ...from })),
  })
}

function resendRoute(service: Service): Route {
  return mailRoute(service, 'confirm', resendConfirmCode, {
    path: '/api/widget/auth/resend',
    summary: 'Mail another code for a sign-up',
    description: 'The answer is the same whether or not such a sign-up exists.',
  })
}

function logInRoute(service: Service): Route {
  return authRoute(service, z.object({ clientId, email, password: shape.password, handle: codeHandle.optional() }), {
    path: '/api/widget/auth/login',
    summary: 'Sign in',
    description:
      'Answers 202 with `next: "confirm"` while the email of a sign-up is not confirmed, and mails a code, unless the one of the given handle still works.',
    output: shape.connected,
    setsDevice: true,
    others: { 202: { description: 'The email is not confirmed yet.', schema: next('confirm') } },
    errors: ['INVALID_CREDENTIALS', ...errors],
    example: { input: { ...example, password: examplePassword }, output: connectedExample },
    run: async (app, input, from) => {
      const result = await logIn(service, app, { ...input, ...from })
      if (result.kind === 'wrong') return refuse('INVALID_CREDENTIALS')
      if (result.kind === 'unconfirmed') return { status: 202, body: { next: 'confirm', handle: result.handle } }
      return toConnectedAnswer(result)
    },
  })
}

function forgotRoute(service: Service): Route {
  return mailRoute(service, 'reset', sendResetCode, {
    path: '/api/widget/auth/forgot',
    summary: 'Mail a code for a new password',
    description: 'The answer is the same whether or not such an account exists.',
  })
}

function mailRoute(
  service: Service,
  step: 'confirm' | 'reset',
  send: typeof resendConfirmCode,
  about: { path: string; summary: string; description: string },
): Route {
  return authRoute(service, z.object({ clientId, email }), {
    ...about,
    status: 202,
    output: next(step),
    errors,
    example: { input: example, output: nextExample(step) },
    run: async (app, input, from) => toMailedAnswer(await send(service, app, { ...input, ...from }), step),
  })
}

function resetRoute(service: Service): Route {
  const input = z.object({ clientId, email, code: shape.mailedCode, handle: codeHandle, password: shape.password })
  return authRoute(service, input, {
    path: '/api/widget/auth/reset',
    summary: 'Set a new password with a mailed code, and sign in',
    description: 'Invalidates all link codes issued before.',
    output: shape.connected,
    setsDevice: true,
    errors: ['INVALID_CODE', 'WEAK_PASSWORD', ...errors],
    example: {
      input: { ...example, code: '204863', handle: shape.exampleIds.codeHandle, password: examplePassword },
      output: connectedExample,
    },
    run: async (app, input, from) => {
      const problem = findPasswordProblem(input.password, input.email)
      if (problem) return refuse('WEAK_PASSWORD', { fields: { password: problem } })
      return toCodeAnswer(await resetPassword(service, app, { ...input, ...from }))
    },
  })
}

type AuthRoute<T> = Omit<Route, 'method' | 'tag' | 'input' | 'handle'> & {
  readonly run: (app: App, input: T, from: From) => Promise<Answer>
}

function authRoute<T extends { clientId: string }>(
  service: Service,
  schema: z.ZodType<T>,
  { run, ...rest }: AuthRoute<T>,
): Route {
  return {
    ...rest,
    method: 'POST',
    tag: 'Widget',
    input: schema,
    handle: async (call) => {
      const read = await readPageCall(service, call, schema)
      return read.refusal ?? (await unlessBusy(() => run(read.app, read.input, fromOf(call))))
    },
  }
}

function next(step: 'confirm' | 'reset') {
  return z.object({ next: z.literal(step), handle: codeHandle })
}

function nextExample(next: 'confirm' | 'reset') {
  return { next, handle: shape.exampleIds.codeHandle }
}

function toMailedAnswer(result: Mailed, step: 'confirm' | 'reset'): Answer {
  if (result.kind === 'limited') return refuseFor(result.retryAfterSeconds)
  return { status: 202, body: { next: step, handle: result.handle } }
}

function toCodeAnswer(result: SignedIn | Limited | { kind: 'wrong-code' }): Answer {
  return result.kind === 'wrong-code' ? refuse('INVALID_CODE') : toConnectedAnswer(result)
}

/** The browser keeps the token of its new device. */
function toConnectedAnswer(result: SignedIn | Limited): Answer {
  if (result.kind === 'limited') return refuseFor(result.retryAfterSeconds)
  const { serviceUserId, linkCode, deviceToken } = result
  return { ...answer({ serviceUserId, linkCode }), headers: deviceCookie(deviceToken) }
}
