/** An operator runs a failed piece of work again, without waiting for its back-off. */
import { transact } from '../store/connection/database.ts'
import { restartWork } from '../store/work/work-report.ts'
import { workKinds, type WorkKind } from '../store/work/work.ts'
import { recordAudit, type Actor } from './audit.ts'
import type { Service } from './service.ts'

/** False when the work has not failed, or is running again. */
export async function runWorkAgain(
  service: Service,
  actor: Actor,
  { kind, key }: { kind: string; key: string },
): Promise<boolean> {
  const known = workKinds.find((each): each is WorkKind => each === kind)
  if (!known) return false
  const isRestarted = await transact(service.db, async (tx) => {
    if (!(await restartWork(tx, known, key))) return false
    await recordAudit(tx, actor, 'work.run-again', `work:${known}`, { key })
    return true
  })
  service.wakeUps.wake(known)
  return isRestarted
}
