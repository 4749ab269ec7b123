/** Which mails the user of a session wants. Those about the account's safety and about debts always come. */
import { z } from 'zod'
import { chooseMail, readMailChoices } from '../actions/mails/stop-mails.ts'
import type { Service } from '../actions/service.ts'
import { mailChoices } from '../store/mails.ts'
import { answer, refuse, type Answer } from './reply.ts'
import type { Route } from './route.ts'
import { accountChange } from './widget-account-change.ts'
import { readSessionCall } from './widget-call.ts'
import * as shape from './widget-shapes.ts'

const choice = z.enum(mailChoices, `must be one of ${mailChoices.join(', ')}`)
const output = z
  .object({
    mails: z.array(z.object({ choice, isWanted: z.boolean() })).describe('The kinds that can be stopped'),
  })
  .meta({ id: 'MailChoices' })

const example = {
  mails: [
    { choice: 'receipts', isWanted: true },
    { choice: 'payments', isWanted: true },
    { choice: 'sign-ins', isWanted: false },
  ],
}

export function widgetMailRoutes(service: Service): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/widget/account/mails',
      tag: 'Widget',
      proof: 'session',
      summary: 'Which mails the user wants',
      description:
        'Receipts and news of card payments, the first payment to a new app, sign-ins from a new place. Mails about the account’s safety and about debts always come.',
      input: shape.sessionQuery,
      output,
      errors: shape.sessionErrors,
      example: { input: { session: shape.exampleIds.sessionToken }, output: example },
      handle: async (call) => {
        const read = await readSessionCall(service, call, shape.sessionQuery)
        return read.refusal ?? toAnswer(await readMailChoices(service, read.session.userId))
      },
    },
    accountChange(service, z.object({ choice, isWanted: z.boolean('must be true or false') }), {
      path: '/api/widget/account/mails',
      summary: 'Stop a kind of mail, or have it again',
      output,
      example: { input: { choice: 'sign-ins', isWanted: false }, output: example },
      run: async ({ userId }, input) => toAnswer(await chooseMail(service, userId, input.choice, input.isWanted)),
    }),
  ]
}

/** Undefined of a user who was deleted a moment ago. */
function toAnswer(stopped: readonly string[] | undefined): Answer {
  if (!stopped) return refuse('INVALID_SESSION')
  return answer({ mails: mailChoices.map((each) => ({ choice: each, isWanted: !stopped.includes(each) })) })
}
