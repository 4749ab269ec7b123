/** Holds as the statements make them: small, short, and released afterwards. */
import { NotTried, demand, demandNumber, demandSuccess } from './verdict.ts'
import type { Credentials, Reply, Subject } from './subject.ts'

export type HoldBody = Readonly<Record<string, unknown>>

const path = '/api/server/wallet/hold'
/** The shortest that a service must take: what a run leaves behind is soon available again. */
const shortestSeconds = 60

/** Statements about holds are tried only where the service has them. */
function demandHolds(reply: Reply): Reply {
  if (reply.status === 404 && reply.body?.['code'] !== 'HOLD_NOT_FOUND' && reply.body?.['code'] !== 'USER_NOT_FOUND')
    throw new NotTried('POST /api/server/wallet/hold is 404', 'holds')
  return reply
}

export async function placeHold(subject: Subject, amount: number, fields: object = {}): Promise<Reply> {
  const { credentials, serviceUserId } = subject
  const asked = {
    ...credentials,
    serviceUserId,
    amount,
    ...subject.newReference(),
    expiresIn: shortestSeconds,
    ...fields,
  }
  return demandHolds(await subject.post(path, asked))
}

export async function changeHold(
  subject: Subject,
  change: 'capture' | 'void' | 'extend',
  fields: object,
  who: Credentials = subject.credentials,
): Promise<Reply> {
  const { clientId, clientSecret } = who
  return demandHolds(await subject.post(`${path}/${change}`, { clientId, clientSecret, ...fields }))
}

export async function readHold(
  subject: Subject,
  holdId: string,
  { clientId, clientSecret }: Credentials = subject.credentials,
): Promise<Reply> {
  return demandHolds(await subject.get(path, { clientId, clientSecret, holdId }))
}

export async function listHolds(subject: Subject, query: Record<string, string>): Promise<readonly HoldBody[]> {
  const { credentials, serviceUserId } = subject
  const reply = demandHolds(await subject.get(`${path}s`, { ...credentials, serviceUserId, ...query }))
  const { holds } = demandSuccess(reply, 'GET /api/server/wallet/holds')
  demand(Array.isArray(holds), 'holds is not a list')
  return holds as HoldBody[]
}

export function holdIn(reply: Reply, what: string): HoldBody & { readonly id: string } {
  const { hold } = demandSuccess(reply, what)
  demand(typeof hold === 'object' && hold !== null, `${what} has no hold`)
  const { id } = hold as HoldBody
  demand(typeof id === 'string', 'the hold has no id')
  return { ...(hold as HoldBody), id }
}

/** Makes a hold, and releases what is left of it, also after a failure. */
export async function withHold(
  subject: Subject,
  amount: number,
  act: (hold: ReturnType<typeof holdIn>) => Promise<void>,
  fields: object = {},
): Promise<void> {
  const hold = holdIn(await placeHold(subject, amount, fields), 'the hold')
  try {
    await act(hold)
  } finally {
    await changeHold(subject, 'void', { holdId: hold.id }).catch(() => undefined)
  }
}

export type Figures = Readonly<Record<'balance' | 'available' | 'held', number>>

export async function figuresOf(subject: Subject): Promise<Figures> {
  const { balance, available, held } = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
  return {
    balance: demandNumber(balance, 'balance'),
    available: demandNumber(available, 'available'),
    held: demandNumber(held, 'held'),
  }
}
