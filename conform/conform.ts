/** Tries every statement of the contract that a backend can check on a running service, and restores the wallet's balance. */
import { moneyStatements } from './money-statements.ts'
import { refusalStatements } from './refusal-statements.ts'
import { isSameMoney, tryStatement, type Verdict } from './verdict.ts'
import { newSubject, type Settings, type Subject } from './subject.ts'
import { widgetStatements } from './widget-statements.ts'

export type Conformance = {
  readonly verdicts: readonly Verdict[]
  /** `after` is undefined if the service did not return a balance. */
  readonly balance: { readonly before: number; readonly after: number | undefined }
}

/** Why the check could not start. */
export type Unfit = { readonly problem: string }

export const statements = [...moneyStatements, ...refusalStatements, ...widgetStatements]

/** Credited first. All debits together stay far below it, so none is refused by mistake. */
const float = 50

/** The default time limit: a run takes seconds, or minutes on a slow service. Without answers each statement would take ten seconds. */
const defaultWithinMs = 5 * 60_000

export async function conform(
  settings: Settings,
  onVerdict: (verdict: Verdict) => void = () => {},
): Promise<Conformance | Unfit> {
  const subject = newSubject(settings)
  const start = await readStart(subject)
  if ('problem' in start) return start
  const { before } = start
  const { withinMs = defaultWithinMs } = settings
  const startedAt = performance.now()
  const verdicts: Verdict[] = []
  try {
    for (const statement of statements) {
      settings.signal?.throwIfAborted()
      const { section, says } = statement
      const isLate = performance.now() - startedAt > withinMs
      const late: Verdict = { section, says, verdict: 'not tried', why: 'the service took too long with the others' }
      const verdict = isLate ? late : await tryStatement(statement, subject)
      verdicts.push(verdict)
      onVerdict(verdict)
    }
  } finally {
    await restoreBalance(subject, before)
  }
  return { verdicts, balance: { before, after: await balanceOf(subject) } }
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
    await subject.credit(float)
    return { before: balance }
  } catch {
    return { problem: 'The service does not answer within ten seconds.' }
  }
}

/** Compares balances instead of adding up operations, and repeats, because a faulty service may move too much here as well. */
async function restoreBalance(subject: Subject, before: number, triesLeft = 3): Promise<void> {
  const now = await balanceOf(subject)
  if (now === undefined || isSameMoney(now, before) || triesLeft === 0) return
  // Rounded to three decimals: 0.1 + 0.2 is not a valid amount.
  const difference = Number(Math.abs(now - before).toFixed(3))
  await (now > before ? subject.debit : subject.credit)(difference).catch(() => undefined)
  await restoreBalance(subject, before, triesLeft - 1)
}

async function balanceOf(subject: Subject): Promise<number | undefined> {
  const balance = await subject.wallet().then(
    ({ body }) => body?.['balance'],
    () => undefined,
  )
  return typeof balance === 'number' ? balance : undefined
}
