/** Every statement of the contract that a backend can try, on a running service, whose wallet is left as it was found. */
import { moneyStatements } from './money-statements.ts'
import { refusalStatements } from './refusal-statements.ts'
import { isSameMoney, tryStatement, type Verdict } from './verdict.ts'
import { newSubject, type Settings, type Subject } from './subject.ts'
import { widgetStatements } from './widget-statements.ts'

export type Conformance = {
  readonly verdicts: readonly Verdict[]
  /** Undefined where the service would not say. */
  readonly balance: { readonly before: number; readonly after: number | undefined }
}

/** It could not even begin. */
export type Unfit = { readonly problem: string }

export const statements = [...moneyStatements, ...refusalStatements, ...widgetStatements]

/** All debits together stay far below this, so none is refused that should not be. */
const float = 50

/** One after the other takes seconds, and of a slow service minutes; one that answers nothing would take ten seconds for each. */
const usuallyWithinMs = 5 * 60_000

export async function conform(
  settings: Settings,
  onVerdict: (verdict: Verdict) => void = () => {},
): Promise<Conformance | Unfit> {
  const subject = newSubject(settings)
  const start = await readStart(subject)
  if ('problem' in start) return start
  const { before } = start
  const { withinMs = usuallyWithinMs } = settings
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
      return { problem: `GET /api/server/wallet answered ${status}: no wallet to try it with.` }
    if (isActive === false) return { problem: 'The wallet is not active. Give a user with an active one.' }
    await subject.credit(float)
    return { before: balance }
  } catch {
    return { problem: 'The service does not answer within ten seconds.' }
  }
}

/** By what the wallet says, whatever went wrong on the way: a service that moves too much may do so here as well. */
async function restoreBalance(subject: Subject, before: number, triesLeft = 3): Promise<void> {
  const now = await balanceOf(subject)
  if (now === undefined || isSameMoney(now, before) || triesLeft === 0) return
  // As many digits as money has: 0.1 + 0.2 is no amount.
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
