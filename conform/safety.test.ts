/** The conformance kit and money: it undoes its own movements, all of them and no others, also when it is interrupted. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectBalancedBooks } from '../test/books.ts'
import { newClient, type Client } from '../test/client.ts'
import { isPosting, readAsked, intent, type Send } from '../test/conform/proxy.ts'
import { linkUser, newApp, newUser, openTestService, type Credentials, type TestService } from '../test/service.ts'
import { conform, type Conformance } from './conform.ts'
import { moneyStatements } from './money-statements.ts'
import { newSubject } from './subject.ts'
import { undoMovements } from './undo.ts'

setDefaultTimeout(300_000)

let opened: TestService
let app: Credentials
let client: Client
let user: { userId: string; serviceUserId: string }

beforeAll(async () => {
  opened = await openTestService()
  app = await newApp(opened.service)
  client = newClient(opened.app.fetch, app)
  await opened.app.fetch(new Request(`http://billfold.test/widget/topup?clientId=${app.clientId}`))
})
beforeEach(async () => {
  user = await newUser(opened.service, app)
  await client.credit(user.serviceUserId, 12.34)
})
afterAll(async () => {
  await expectBalancedBooks(opened.service)
  await opened.close()
})

const answer: Send = (request) => opened.app.fetch(request)
const settings = () => ({ url: 'http://billfold.test', ...app, serviceUserId: user.serviceUserId })

async function tryMoney(send: Send): Promise<Conformance> {
  const result = await conform({ ...settings(), send, withinMs: 600_000 }, {}, moneyStatements)
  if ('problem' in result) throw new Error(result.problem)
  return result
}

/** Calls `act` with the number of each debit or credit, before it is forwarded. */
function atPostings(act: (count: number, request: Request) => Promise<Response | undefined>): Send {
  let count = 0
  return async (request) => {
    if (!isPosting(new URL(request.url).pathname)) return await answer(request)
    return (await act(++count, request)) ?? (await answer(request))
  }
}

describe('it undoes its own movements', () => {
  test('money that another app credits during a run stays', async () => {
    const otherApp = await newApp(opened.service)
    const other = newClient(answer, otherApp)
    const link = await linkUser(opened.service, otherApp, user.userId)
    const send = atPostings(async (count) => {
      if (count === 20) await other.credit(link, 500)
      return undefined
    })
    const { left, balance } = await tryMoney(send)
    expect([left, balance]).toEqual([[], { before: 12.34, after: 512.34 }])
  })

  test('a movement whose answer was lost is undone, also if it is the undoing itself', async () => {
    const lost: string[] = []
    const send = atPostings(async (count, request) => {
      const { sent } = await readAsked(request)
      const isUndo = sent['referenceType'] === 'CONFORMANCE_UNDO'
      const isLost = isUndo ? !lost.includes('undo') : count % 5 === 0
      if (!isLost) return undefined
      lost.push(isUndo ? 'undo' : 'other')
      await answer(request)
      throw new Error('lost')
    })
    const { left, balance } = await tryMoney(send)
    expect([left, balance]).toEqual([[], { before: 12.34, after: 12.34 }])
    expect([lost.includes('undo'), lost.length > 5]).toEqual([true, true])
  })

  test('a movement that arrived with no answer before an interruption is undone', async () => {
    const interrupted = new AbortController()
    const send = atPostings(async (count, request) => {
      if (count !== 12) return undefined
      await answer(request)
      interrupted.abort()
      throw new Error('lost')
    })
    const result = await conform({ ...settings(), send, signal: interrupted.signal }, {}, moneyStatements)
    expect(result).toMatchObject({ left: [], balance: { before: 12.34, after: 12.34 }, isInterrupted: true })
  })

  test('what another caller has spent of it is left, and reported', async () => {
    const { serviceUserId } = user
    const send = atPostings(async (_, request) => {
      const { sent } = await readAsked(request)
      if (sent['referenceType'] === 'CONFORMANCE_UNDO' && Number(sent['amount']) > 20)
        await client.debit(serviceUserId, 15, 'spent')
      return undefined
    })
    const { left, balance } = await tryMoney(send)
    expect(left).toEqual([{ clientId: app.clientId, serviceUserId, sum: 2.66, unknown: [] }])
    expect(balance).toEqual({ before: 12.34, after: 0 })
  })

  test('a service that is away at the end is asked for a limited time, and what is left is reported with its reference', async () => {
    let isAway = false
    const subject = newSubject({
      ...settings(),
      send: (request) => (isAway ? Promise.reject(new Error('away')) : answer(request)),
    })
    await subject.credit(3)
    isAway = true
    await subject.debit(1).catch(() => undefined)
    const [left] = await undoMovements(subject, 300)
    expect(left?.sum).toBe(3)
    const [debited, undone] = left!.unknown
    expect(debited).toEqual({ amount: -1, reference: `CONFORMANCE ${subject.run}-2`, isRepeatable: true })
    expect(undone).toEqual({ amount: -3, reference: `CONFORMANCE_UNDO ${subject.run}-3`, isRepeatable: true })
    isAway = false
    expect(await undoMovements(subject)).toEqual([])
    expect(await client.balance(user.serviceUserId)).toBe(12.34)
  })
})

describe('it does not start', () => {
  test('on a service that takes real cards, and moves nothing there', async () => {
    let postings = 0
    const send: Send = async (request) => {
      const { pathname } = new URL(request.url)
      if (isPosting(pathname)) postings++
      const response = await answer(request)
      if (pathname !== intent) return response
      return Response.json({ ...((await response.json()) as object), publishableKey: 'pk_live_51abc' })
    }
    const result = await conform({ ...settings(), send })
    expect(result).toEqual({ problem: expect.stringContaining('takes real cards') })
    expect(postings).toBe(0)
  })
})

/** The command as a real process, against a server that runs in this one. */
async function runInterrupted(
  act: (count: number, interrupt: () => void, request: Request) => Promise<Response | undefined>,
) {
  const { promise: started, resolve: start } = Promise.withResolvers<() => void>()
  const send = atPostings(async (count, request) => await act(count, await started, request))
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: (request) => send(request) })
  const flags = ['--url', server.url.href, '--client-id', app.clientId, '--service-user-id', user.serviceUserId]
  const child = Bun.spawn([process.execPath, 'src/cli.ts', 'conform', ...flags], {
    cwd: new URL('..', import.meta.url).pathname,
    env: { PATH: process.env['PATH'] ?? '', BILLFOLD_CLIENT_SECRET: app.clientSecret },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  start(() => child.kill('SIGINT'))
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  await server.stop(true)
  return { stdout, stderr, exitCode }
}

const never = () => new Promise<undefined>(() => {})

describe('Ctrl-C', () => {
  test('in the middle of a credit leaves nothing behind', async () => {
    const ended = await runInterrupted(async (count, interrupt, request) => {
      if (count !== 10) return undefined
      await answer(request)
      interrupt()
      return await never()
    })
    expect([ended.exitCode, await client.balance(user.serviceUserId)]).toEqual([130, 12.34])
    expect(ended.stdout).toContain('Own movements: all undone, their sum is 0.\nThe balance is as before: 12.34.')
    expect(ended.stderr).toStartWith(`This test moves money in the wallet of ${user.serviceUserId}`)
  })

  test('a second time ends at once, and reports what is left with its references', async () => {
    const ended = await runInterrupted(async (count, interrupt, request) => {
      const { sent } = await readAsked(request)
      const isUndo = sent['referenceType'] === 'CONFORMANCE_UNDO'
      if (isUndo || count === 10) interrupt()
      return isUndo ? await never() : undefined
    })
    expect(ended.exitCode).toBe(130)
    const run = /^References start with (\S+)\.$/m.exec(ended.stderr)![1]
    const sum = Number(await client.balance(user.serviceUserId)) - 12.34
    expect(ended.stderr).toContain(`NOT UNDONE: +${sum.toFixed(0)} in the wallet of ${user.serviceUserId}`)
    expect(ended.stderr).toContain(`the sum of its references ${run}-…`)
    expect(ended.stderr).toContain(`with CONFORMANCE_UNDO ${run}-`)
  })
})
