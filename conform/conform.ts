/** Tries every statement of the contract that a backend can check on a running service, and undoes its own movements. */
import { answerStatements } from './answer-statements.ts'
import { feedStatements } from './feed-statements.ts'
import { malformedStatements } from './malformed-statements.ts'
import { moneyStatements } from './money-statements.ts'
import { holdStatements } from './hold-statements.ts'
import { leftOf, type Left } from './movements.ts'
import { otherAppStatements } from './other-app-statements.ts'
import { pageStatements } from './page-statements.ts'
import { refusalStatements } from './refusal-statements.ts'
import { repeatStatements } from './repeat-statements.ts'
import { expiryStatements, sessionStatements } from './session-statements.ts'
import { newSubject, type Settings, type Subject } from './subject.ts'
import { undoMovements } from './undo.ts'
import { tryStatement, type Statement, type Verdict } from './verdict.ts'
import { widgetStatements } from './widget-statements.ts'

export type Conformance = {
  readonly verdicts: readonly Verdict[]
  /** What the run could not undo, by wallet; empty when its own movements cancel out. */
  readonly left: readonly Left[]
  /** `after` is undefined if the service did not return a balance. Others may have moved money meanwhile. */
  readonly balance: { readonly before: number; readonly after: number | undefined }
  readonly isInterrupted: boolean
}

/** Why the check could not start. Nothing has moved. */
export type Unfit = { readonly problem: string }

const groups: readonly (readonly Statement[])[] = [
  moneyStatements,
  repeatStatements,
  refusalStatements,
  malformedStatements,
  otherAppStatements,
  feedStatements,
  holdStatements,
  sessionStatements,
  widgetStatements,
  pageStatements,
  answerStatements,
  expiryStatements,
]

export const statements = groups.flat()

/** Credited first. All debits together stay below it, so none is refused by mistake. */
export const float = 50

/** The default time limit: a run takes seconds, or minutes on a slow service. Without answers each statement would take ten seconds. */
const defaultWithinMs = 5 * 60_000
const patienceMs = 6 * 60_000

export type Watch = {
  readonly onStart?: (run: { readonly id: string; readonly left: () => Left[] }) => void
  readonly onVerdict?: (verdict: Verdict) => void
}

export async function conform(
  settings: Settings,
  watch: Watch = {},
  tried: readonly Statement[] = statements,
): Promise<Conformance | Unfit> {
  const subject = newSubject(settings)
  const start = await readStart(subject)
  settings.signal?.throwIfAborted()
  if ('problem' in start) return start
  watch.onStart?.({ id: subject.run, left: () => leftOf(subject.movements) })
  const verdicts: Verdict[] = []
  let left: Left[] = []
  try {
    await subject.credit(float).catch(() => undefined)
    if (settings.isPatient) await subject.startAging().catch(() => undefined)
    for await (const verdict of verdictsOf(subject, settings, tried)) {
      verdicts.push(verdict)
      watch.onVerdict?.(verdict)
    }
  } finally {
    left = await undoMovements(subject)
  }
  const isInterrupted = settings.signal?.aborted === true
  return { verdicts, left, balance: { before: start.before, after: await balanceAfter(subject) }, isInterrupted }
}

async function* verdictsOf(subject: Subject, settings: Settings, tried: readonly Statement[]): AsyncGenerator<Verdict> {
  const { withinMs = defaultWithinMs + (settings.isPatient ? patienceMs : 0), signal } = settings
  const startedAt = performance.now()
  for (const statement of tried) {
    const { section, says } = statement
    const isLate = performance.now() - startedAt > withinMs
    const late: Verdict = { section, says, verdict: 'not tried', why: 'the service took too long with the others' }
    const verdict = isLate ? late : await tryStatement(statement, subject)
    // An interrupted attempt says nothing about the service.
    if (signal?.aborted) return
    yield verdict
  }
}

async function readStart(subject: Subject): Promise<{ before: number } | Unfit> {
  try {
    const { status, body } = await subject.wallet()
    if (status === 401 && body?.['code'] === 'INVALID_CLIENT')
      return { problem: 'The service does not accept these credentials.' }
    if (status === 401) return { problem: 'The service does not know this serviceUserId.' }
    const { balance, isActive } = body ?? {}
    if (status !== 200 || typeof balance !== 'number')
      return { problem: `GET /api/server/wallet answered ${status}, so there is no wallet to check with.` }
    if (isActive === false) return { problem: 'The wallet is not active. Use a user with an active wallet.' }
    if (await takesRealCards(subject))
      return {
        problem:
          'The service takes real cards: its top-up has a live key. This test moves money; use a service whose card processor is in test mode.',
      }
    return { before: balance }
  } catch {
    return { problem: 'The service does not answer within ten seconds.' }
  }
}

/** The contract does not show the processor, but Stripe's form needs its key in the browser, and live keys say so. */
async function takesRealCards(subject: Subject): Promise<boolean> {
  const token = (await subject.session()).body?.['sessionToken']
  if (typeof token !== 'string') return false
  const page = await subject.call(`/widget/topup?session=${encodeURIComponent(token)}`)
  const intent = await subject.post('/api/widget/topup/create-intent', { amount: 10 }, { session: token })
  return [page, intent].some(({ text }) => /\bpk_live_|"livemode"\s*:\s*true/.test(text))
}

async function balanceAfter(subject: Subject): Promise<number | undefined> {
  const query = new URLSearchParams({ ...subject.credentials, serviceUserId: subject.serviceUserId })
  // Not through the run's signal, which may be aborted.
  const reply = await subject.send(`/api/server/wallet?${query}`, {}).catch(() => undefined)
  const balance = reply?.body?.['balance']
  return typeof balance === 'number' ? balance : undefined
}
