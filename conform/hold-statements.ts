/** Holds: money that is reserved before it is charged, which the contract does not have. A service without them is not tried. */
import { changeHold, figuresOf, holdIn, listHolds, placeHold, readHold, withHold, type Figures } from './hold-call.ts'
import { NotTried, demand, demandMoney, demandRefusal, demandSuccess, shownValue, type Statement } from './verdict.ts'
import type { Reply, Subject } from './subject.ts'

const statement = (says: string, attempt: Statement['attempt']): Statement => ({ section: 'holds', says, attempt })

function demandFigures(now: Figures, before: Figures, { balance, held }: Omit<Figures, 'available'>): void {
  demandMoney(now.balance, before.balance + balance, 'balance')
  demandMoney(now.held, before.held + held, 'held')
  demandMoney(now.available, before.available + balance - held, 'available')
}

/** A part of a hold, with its own reference. */
const capturePart = (subject: Subject, holdId: string, amount: number, fields: object = subject.newReference()) =>
  changeHold(subject, 'capture', { holdId, amount, final: false, ...fields })

const transactionIdOf = (reply: Reply, what: string) => demandSuccess(reply, what)['transactionId']

const secondsOf = ({ createdAt, expiresAt }: Readonly<Record<string, unknown>>) =>
  (Date.parse(String(expiresAt)) - Date.parse(String(createdAt))) / 1_000

export const holdStatements: readonly Statement[] = [
  statement('A hold leaves the balance as it is, and lowers what is available by its amount', async (subject) => {
    const before = await figuresOf(subject)
    await withHold(subject, 3, async (hold) => {
      demand(hold['status'] === 'OPEN', `its status is ${shownValue(hold['status'])}`)
      demandMoney(hold['remaining'], 3, 'remaining')
      demandFigures(await figuresOf(subject), before, { balance: 0, held: 3 })
    })
  }),
  statement('What is held cannot be spent: a debit of it is 400 INSUFFICIENT_BALANCE', async (subject) => {
    const { available } = await figuresOf(subject)
    await withHold(subject, 3, async () => {
      const reply = await subject.debit(available)
      demandRefusal(reply, 'a debit of what was available before', { status: 400, code: 'INSUFFICIENT_BALANCE' })
      demandMoney(reply.body?.['shortfall'], 3, 'shortfall')
    })
  }),
  statement('check-balance counts what is available', async (subject) => {
    const { available } = await figuresOf(subject)
    await withHold(subject, 3, async () => {
      const { hasSufficientBalance } = demandSuccess(await subject.check(available), 'check-balance')
      demand(hasSufficientBalance === false, 'it says that money on hold is sufficient')
    })
  }),
  statement('A hold beyond what is available is 400 INSUFFICIENT_BALANCE', async (subject) => {
    // Without holds there is nothing to refuse.
    await withHold(subject, 1, async () => {
      const { available } = await figuresOf(subject)
      const reply = await placeHold(subject, available + 1)
      demandRefusal(reply, 'it', { status: 400, code: 'INSUFFICIENT_BALANCE' })
    })
  }),
  statement('A hold with the same reference again reserves once, and is the same hold', async (subject) => {
    const reference = subject.newReference()
    const before = await figuresOf(subject)
    await withHold(
      subject,
      2,
      async ({ id }) => {
        const again = holdIn(await placeHold(subject, 2, reference), 'the repeat')
        demand(again.id === id, 'the repeat has another id')
        demandFigures(await figuresOf(subject), before, { balance: 0, held: 2 })
      },
      reference,
    )
  }),
  statement('A capture is a debit, and the rest is available at once', async (subject) => {
    const before = await figuresOf(subject)
    await withHold(subject, 5, async ({ id, referenceType, referenceId }) => {
      const fields = { holdId: id, amount: 2, referenceType, referenceId }
      const captured = holdIn(await changeHold(subject, 'capture', fields), 'the capture')
      demand(captured['status'] === 'CAPTURED', `its status is ${shownValue(captured['status'])}`)
      demandMoney(captured['captured'], 2, 'captured')
      demandFigures(await figuresOf(subject), before, { balance: -2, held: 0 })
      const { transactions } = demandSuccess(await subject.wallet(), 'GET /api/server/wallet')
      const [latest] = Array.isArray(transactions) ? (transactions as Readonly<Record<string, unknown>>[]) : []
      demand(latest?.['referenceId'] === referenceId, 'GET wallet has no transaction with the reference of the hold')
    })
  }),
  statement('Captures with final: false take parts, and the rest stays held', async (subject) => {
    const before = await figuresOf(subject)
    await withHold(subject, 4, async ({ id }) => {
      for (const amount of [1, 2]) demandSuccess(await capturePart(subject, id, amount), 'a capture')
      demandFigures(await figuresOf(subject), before, { balance: -3, held: 1 })
    })
  }),
  statement('A capture with the same reference again moves nothing', async (subject) => {
    const before = await figuresOf(subject)
    await withHold(subject, 4, async ({ id }) => {
      const reference = subject.newReference()
      const [first, again] = [
        await capturePart(subject, id, 1, reference),
        await capturePart(subject, id, 1, reference),
      ]
      demand(transactionIdOf(first, 'a capture') === transactionIdOf(again, 'the repeat'), 'the repeat has another id')
      demandFigures(await figuresOf(subject), before, { balance: -1, held: 3 })
    })
  }),
  statement('A plain debit with the reference of a captured hold does not charge it again', async (subject) => {
    const reference = subject.newReference()
    const before = await figuresOf(subject)
    await withHold(
      subject,
      2,
      async ({ id }) => {
        const captured = await changeHold(subject, 'capture', { holdId: id, amount: 2, ...reference })
        const debited = await subject.debit(2, reference)
        const isSame = transactionIdOf(captured, 'the capture') === transactionIdOf(debited, 'the debit')
        demand(isSame, 'the debit has another id')
        demandFigures(await figuresOf(subject), before, { balance: -2, held: 0 })
      },
      reference,
    )
  }),
  statement('A capture of more than remains is 400 HOLD_EXCEEDED, unless allowExtra is true', async (subject) => {
    await withHold(subject, 2, async ({ id }) => {
      const fields = { holdId: id, amount: 3, ...subject.newReference() }
      const reply = await changeHold(subject, 'capture', fields)
      demandRefusal(reply, 'it', { status: 400, code: 'HOLD_EXCEEDED' })
      demandMoney(reply.body?.['remaining'], 2, 'remaining')
      const extra = holdIn(await changeHold(subject, 'capture', { ...fields, allowExtra: true }), 'with allowExtra it')
      demandMoney(extra['captured'], 3, 'captured')
    })
  }),
  statement('A void releases the money once; what was voided cannot be captured: 409 HOLD_CLOSED', async (subject) => {
    const before = await figuresOf(subject)
    await withHold(subject, 2, async ({ id: holdId }) => {
      for (const what of ['the void', 'the repeat']) {
        const { status } = holdIn(await changeHold(subject, 'void', { holdId }), what)
        demand(status === 'VOIDED', `after ${what} its status is ${shownValue(status)}`)
      }
      demandFigures(await figuresOf(subject), before, { balance: 0, held: 0 })
      const reply = await changeHold(subject, 'capture', { holdId, amount: 1, ...subject.newReference() })
      demandRefusal(reply, 'a capture', { status: 409, code: 'HOLD_CLOSED' })
    })
  }),
  statement('A hold ends when it was asked to, and an extension never ends it earlier', async (subject) => {
    await withHold(
      subject,
      1,
      async (hold) => {
        demand(Math.abs(secondsOf(hold) - 600) < 2, `it lasts ${secondsOf(hold)} seconds, not 600`)
        const fields = { holdId: hold.id, expiresIn: 60 }
        const extended = holdIn(await changeHold(subject, 'extend', fields), 'an extension')
        demand(secondsOf(extended) >= secondsOf(hold) - 0.001, 'the extension ends it earlier')
      },
      { expiresIn: 600 },
    )
  }),
  statement('An expiresIn below 60 seconds or above 30 days is 400', async (subject) => {
    await withHold(subject, 1, async () => {
      for (const expiresIn of [59, 2_592_001, -1, '600'])
        demandRefusal(await placeHold(subject, 1, { expiresIn }), `expiresIn ${expiresIn}`, { status: 400 })
    })
  }),
  statement('GET holds lists the newest first, and those of a status alone', async (subject) => {
    await withHold(subject, 1, async (older) =>
      withHold(subject, 1, async (newer) => {
        const ids = (await listHolds(subject, { limit: '2' })).map(({ id }) => id)
        demand(ids.join() === [newer.id, older.id].join(), 'the first two are others')
        demandSuccess(await changeHold(subject, 'void', { holdId: newer.id }), 'a void')
        const open = await listHolds(subject, { status: 'OPEN', limit: '200' })
        demand(
          open.some(({ id }) => id === older.id),
          'an open hold is missing',
        )
        demand(
          open.every(({ status }) => status === 'OPEN'),
          'status=OPEN has holds that are not open',
        )
      }),
    )
  }),
  statement('Another app does not know the hold: 404 HOLD_NOT_FOUND', async (subject) => {
    const { other } = subject
    await withHold(subject, 1, async ({ id: holdId }) => {
      if (!other) throw new NotTried('pass another app as --other-client-id', '--other-client-id')
      const unknown = { status: 404, code: 'HOLD_NOT_FOUND' }
      demandRefusal(await readHold(subject, holdId, other), 'a read', unknown)
      demandRefusal(await changeHold(subject, 'void', { holdId }, other), 'a void', unknown)
      const fields = { holdId, amount: 1, ...subject.newReference() }
      demandRefusal(await changeHold(subject, 'capture', fields, other), 'a capture', unknown)
    })
  }),
  statement('Wrong credentials read and change no hold: 401 INVALID_CLIENT', async (subject) => {
    await withHold(subject, 1, async ({ id: holdId }) => {
      const wrong = { ...subject.credentials, clientSecret: 'not-the-secret' }
      const invalid = { status: 401, code: 'INVALID_CLIENT' }
      demandRefusal(await readHold(subject, holdId, wrong), 'a read', invalid)
      demandRefusal(await changeHold(subject, 'void', { holdId }, wrong), 'a void', invalid)
    })
  }),
]
