/** §2, §4 and §7 of the contract: requests that lack what it requires are refused, and move nothing. */
import { callRoute, postRoutes } from './server-call.ts'
import { demandMoved, demandRefusal, type Statement } from './verdict.ts'
import type { Reply, Subject } from './subject.ts'

/** Checks the money first: a refusal that has moved money is the worse fault. */
async function demandIdle(subject: Subject, what: string, act: () => Promise<Reply>): Promise<void> {
  let reply: Reply | undefined
  await demandMoved(subject, 0, what, async () => (reply = await act()))
  demandRefusal(reply!, what)
}

const without = (route: (typeof postRoutes)[number], field: string): Statement => ({
  section: '2',
  says: `${route} is refused without ${field}, and moves nothing`,
  attempt: async (subject) => {
    for (const value of [undefined, null])
      await demandIdle(subject, `a call ${value === null ? 'with null as' : 'without'} ${field}`, () =>
        callRoute(subject, route, { changes: { [field]: value } }),
      )
  },
})

const badAmount = (route: (typeof postRoutes)[number], what: string, amounts: readonly unknown[]): Statement => ({
  section: '4.A',
  says: `${route} is refused with ${what}, and moves nothing`,
  attempt: async (subject) => {
    for (const amount of amounts)
      await demandIdle(subject, `the amount ${JSON.stringify(amount) ?? 'absent'}`, () =>
        callRoute(subject, route, { changes: { amount } }),
      )
  },
})

/** Bodies that are no JSON object, and the content type that they are sent with. */
const badBodies: readonly (readonly [what: string, body: string, contentType?: string])[] = [
  ['a body that is cut off', '{"clientId":'],
  ['an empty body', ''],
  ['a list', '[]'],
  ['null', 'null'],
  ['a text', '"text"'],
  ['a form', 'amount=1', 'application/x-www-form-urlencoded'],
]

const backendPosts = [...postRoutes, 'POST /api/widget/session']

export const malformedStatements: readonly Statement[] = [
  ...postRoutes.flatMap((route) => [
    without(route, 'referenceType'),
    without(route, 'referenceId'),
    badAmount(route, 'a negative amount', [-1]),
    badAmount(route, 'no amount', [undefined, null]),
    badAmount(route, 'an amount that is no number', ['one', {}, [1, 2]]),
  ]),
  ...backendPosts.map((route): Statement => ({
    section: '1, 7',
    says: `${route} is refused with a body that is no JSON object`,
    attempt: async (subject) => {
      for (const [what, body, contentType = 'application/json'] of badBodies) {
        const init = { method: 'POST', body, headers: { 'content-type': contentType } }
        demandRefusal(await subject.call(route.split(' ')[1]!, init), what)
      }
    },
  })),
  ...postRoutes.map((route): Statement => {
    const path = route.split(' ')[1]!
    return {
      section: '4.A',
      says: `GET ${path} moves nothing: a debit or credit is a POST`,
      attempt: async (subject) => {
        const { credentials, serviceUserId } = subject
        const fields = { ...credentials, serviceUserId, amount: '1', ...subject.newReference() }
        await demandIdle(subject, 'the GET', () => subject.get(path, fields))
      },
    }
  }),
  {
    section: '4.A',
    says: 'check-balance is refused without a requiredAmount, and with one that is no number',
    attempt: async (subject) => {
      for (const requiredAmount of [undefined, 'one'])
        demandRefusal(
          await callRoute(subject, 'GET /api/server/wallet/check-balance', { changes: { requiredAmount } }),
          requiredAmount === undefined ? 'without it check-balance' : `with "${requiredAmount}" check-balance`,
        )
    },
  },
  {
    section: '7',
    says: 'A path that does not exist is refused',
    attempt: async (subject) =>
      demandRefusal(await subject.get('/api/server/wallet/conformance-no-such-path', {}), 'such a path'),
  },
]
