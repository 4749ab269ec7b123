/** Writes the counts of calls and links that an app's page shows. */
import { addAppCalls, countAppLinks } from '../../store/app-calls.ts'
import type { Service } from '../service.ts'

/** Counts that could not be written are kept for the next run. */
export async function countCalls({ appCalls, db }: Pick<Service, 'appCalls' | 'db'>): Promise<void> {
  const counted = appCalls.take()
  if (counted.length === 0) return
  await addAppCalls(db.pool, counted, performance.now()).catch((error: unknown) => {
    appCalls.putBack(counted)
    throw error
  })
}

const countEveryMs = 10 * 60_000

/** Every process calls this; one of them counts every ten minutes. */
export async function countLinks({ db }: Service): Promise<void> {
  await countAppLinks(db.pool, countEveryMs - 30_000)
}
