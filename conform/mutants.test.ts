/**
 * Services that are broken in one way each. By default each is tried with the statements that it breaks alone, so that none of them needs
 * the calls of another; with `npm test -- all` with all statements, of which the kit names exactly the broken ones.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { feedMutants } from '../test/conform/feed-mutants.ts'
import { holdMutants } from '../test/conform/hold-mutants.ts'
import { moneyMutants } from '../test/conform/money-mutants.ts'
import { pageMutants } from '../test/conform/page-mutants.ts'
import type { Mutant, Send } from '../test/conform/proxy.ts'
import { refusalMutants } from '../test/conform/refusal-mutants.ts'
import { repeatMutants } from '../test/conform/repeat-mutants.ts'
import { widgetMutants } from '../test/conform/widget-mutants.ts'
import { eventually } from '../test/eventually.ts'
import { wantsAll } from '../test/wants-all.ts'
import { newApp, newUser, openTestService, operator, type Credentials, type TestService } from '../test/service.ts'
import { setAppEvents } from '../src/actions/apps/manage-apps.ts'
import { pingApp } from '../src/actions/webhooks/manage-endpoints.ts'
import { findEventHeads } from '../src/store/events/feed.ts'
import { numberEvents } from '../src/store/events/number-events.ts'
import { answerStatements } from './answer-statements.ts'
import { conform, float, statements, type Conformance } from './conform.ts'
import { feedStatements } from './feed-statements.ts'
import { holdStatements } from './hold-statements.ts'
import { malformedStatements } from './malformed-statements.ts'
import { refusalStatements } from './refusal-statements.ts'
import { expiryStatements, sessionStatements } from './session-statements.ts'
import { newSubject, type Settings } from './subject.ts'
import { tryStatement, type Statement, type Verdict } from './verdict.ts'

setDefaultTimeout(600_000)

const mutants = [
  ...moneyMutants,
  ...repeatMutants,
  ...refusalMutants,
  ...widgetMutants,
  ...pageMutants,
  ...feedMutants,
  ...holdMutants,
]

let opened: TestService

beforeAll(async () => {
  opened = await openTestService()
  // The first page request builds all scripts, which on a busy machine takes longer than the kit's timeout.
  const { clientId } = await newApp(opened.service)
  for (const path of ['wallet', 'topup'])
    await opened.app.fetch(new Request(`http://billfold.test/widget/${path}?clientId=${clientId}`))
})
afterAll(() => opened.close())

/** Statements about all answers need refusals of every kind before them. */
const refusing = [...refusalStatements, ...malformedStatements, ...sessionStatements]

function statementsOf({ breaks }: Mutant): readonly Statement[] {
  const isBroken = ({ says }: Statement) => breaks.includes(says)
  const isOfAll = answerStatements.some(isBroken)
  return statements.filter((statement) => isBroken(statement) || (isOfAll && refusing.includes(statement)))
}

/** Each run has its own apps, so that the wrong secrets of one do not slow down another, and its own wallet. */
async function subjectOf(mutant: Mutant, tried: readonly Statement[]): Promise<Settings> {
  const parentOrigin = `https://${crypto.randomUUID()}.example`
  const app = await newApp(opened.service, { allowedIframeParents: [parentOrigin] })
  const other = await newApp(opened.service, { allowedIframeParents: ['https://other.example'] })
  const { serviceUserId } = await newUser(opened.service, app)
  // Without events the statements about the feed are not tried, and other mutants cannot break them.
  if (mutant.name === 'unbroken' || feedMutants.includes(mutant))
    for (const each of [app, other]) await giveEvents(each)
  // The same with holds.
  const hasHolds = mutant.name === 'unbroken' || holdMutants.includes(mutant)
  const answer: Send = async (request) =>
    hasHolds || !new URL(request.url).pathname.startsWith('/api/server/wallet/hold')
      ? await opened.app.fetch(request)
      : Response.json({ error: 'There is no such route.', code: 'NOT_FOUND' }, { status: 404 })
  // In place of waiting, the sessions of the app grow older.
  const wait = async (ms: number) => {
    await opened.service.db.pool.query(
      `update widget_sessions set created_at = created_at - make_interval(secs => $1), expires_at = expires_at - make_interval(secs => $1)
       where client_id = $2`,
      [ms / 1000, app.clientId],
    )
  }
  const send = mutant.send({ answer, app, other, serviceUserId })
  const isPatient = tried.some((statement) => expiryStatements.includes(statement))
  const settings = { ...app, other, serviceUserId, parentOrigin, send, wait, isPatient, withinMs: 600_000 }
  return { url: 'http://billfold.test/', ...settings }
}

async function tryOn(mutant: Mutant): Promise<Conformance> {
  const result = await conform(await subjectOf(mutant, statements), {}, statements)
  if ('problem' in result) throw new Error(result.problem)
  return result
}

/** Without the calls that begin and end a run, which cost as much as the few statements. */
async function tryAlone(mutant: Mutant, tried: readonly Statement[]): Promise<Pick<Conformance, 'verdicts'>> {
  const settings = await subjectOf(mutant, tried)
  const subject = newSubject(settings)
  await subject.credit(float).catch(() => undefined)
  if (settings.isPatient) await subject.startAging().catch(() => undefined)
  const verdicts: Verdict[] = []
  for (const statement of tried) verdicts.push(await tryStatement(statement, subject))
  return { verdicts }
}

/** Switches its events on, and lets the first of two be gone. */
async function giveEvents({ clientId }: Credentials): Promise<void> {
  const { service } = opened
  await setAppEvents(service, operator, clientId, true)
  await pingApp(service, operator, clientId)
  await eventually(async () => {
    await numberEvents(service.db)
    return (await findEventHeads(service.db.pool, [clientId])).get(clientId)
  }, 2)
  await service.db.pool.query('delete from event_pages where client_id = $1 and first = 1', [clientId])
}

const brokenIn = ({ verdicts }: Pick<Conformance, 'verdicts'>) =>
  verdicts.filter(({ verdict }) => verdict === 'fail').map(({ says }) => says)

test('every statement holds on the service itself; one alone needs a browser', async () => {
  const unbroken: Mutant = { name: 'unbroken', send: ({ answer }) => answer, breaks: [] }
  const result = await tryOn(unbroken)
  const others = result.verdicts.filter(({ verdict }) => verdict !== 'pass')
  expect(others.map(({ says, needs }) => [says, needs])).toEqual([
    ['Signing in, switching accounts, and the six messages to the embedding page', 'a browser'],
  ])
  expect([result.verdicts.length, result.left, result.balance]).toEqual([
    statements.length,
    [],
    { before: 0, after: 0 },
  ])
})

test('a statement is named by one text alone', () => {
  expect(new Set(statements.map(({ says }) => says)).size).toBe(statements.length)
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})

test('every statement about the feed and about holds is broken by a service', () => {
  const broken = new Set(mutants.flatMap(({ breaks }) => breaks))
  expect([...feedStatements, ...holdStatements].filter(({ says }) => !broken.has(says))).toEqual([])
})

// These tests mostly wait for the database, so several run in parallel.
test.concurrent.each(mutants.map((mutant) => [mutant.name, mutant] as const))('named: %s', async (_, mutant) => {
  const result = await (wantsAll ? tryOn(mutant) : tryAlone(mutant, statementsOf(mutant)))
  expect(brokenIn(result)).toEqual([...mutant.breaks])
})
