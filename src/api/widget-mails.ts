/** Which optional mails a user gets. Mails about the safety of the account and about debts are always sent. */
import { z } from 'zod'
import { chooseMail, isWarning, readMailChoices } from '../actions/mails/stop-mails.ts'
import type { Service } from '../actions/service.ts'
import { mailChoices } from '../store/mails.ts'
import { answer, refuse, type Answer } from './reply.ts'
import type { Route } from './route.ts'
import { refuseUnproved } from './widget-call.ts'
import { sessionRoute } from './widget-session-route.ts'
import * as shape from './widget-shapes.ts'

const choice = z.enum(mailChoices, `must be one of ${mailChoices.join(', ')}`)
const output = z
  .object({
    mails: z
      .array(z.object({ choice, isWanted: z.boolean() }))
      .describe('The kinds of mail that the user can turn off'),
  })
  .meta({ id: 'MailChoices' })

const example = {
  mails: [
    { choice: 'receipts', isWanted: false },
    { choice: 'payments', isWanted: true },
    { choice: 'sign-ins', isWanted: true },
  ],
}

export function widgetMailRoutes(service: Service): Route[] {
  return [
    sessionRoute(service, shape.sessionQuery, {
      method: 'GET',
      path: '/api/widget/account/mails',
      proof: 'person',
      summary: 'Read which mails the user gets',
      description:
        'Receipts and changes of card payments, the first payment to a new app, sign-ins from a new place. Mails about the safety of the account and about debts are always sent.',
      output,
      example: { input: { session: shape.exampleIds.sessionToken }, output: example },
      run: async ({ userId }) => toAnswer(await readMailChoices(service, userId)),
    }),
    sessionRoute(service, z.object({ choice, isWanted: z.boolean('must be true or false') }), {
      method: 'POST',
      path: '/api/widget/account/mails',
      proof: 'person',
      moreProof: { presence: 'to stop mails about sign-ins and first payments' },
      summary: 'Turn a kind of mail off or on',
      output,
      example: { input: { choice: 'receipts', isWanted: false }, output: example },
      run: async (session, { choice, isWanted }, from) => {
        const unproved = !isWanted && isWarning(choice) ? refuseUnproved(session, 'presence') : undefined
        return unproved ?? toAnswer(await chooseMail(service, session, { choice, isWanted, ...from }))
      },
    }),
  ]
}

/** `stopped` is undefined when the user was deleted since the session was checked. */
function toAnswer(stopped: readonly string[] | undefined): Answer {
  if (!stopped) return refuse('INVALID_SESSION')
  return answer({ mails: mailChoices.map((each) => ({ choice: each, isWanted: !stopped.includes(each) })) })
}
