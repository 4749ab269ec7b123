/** What the page of an app shows of its calls and its users, written down from time to time. */
import { addAppCalls, countAppLinks } from '../../store/app-calls.ts'
import type { Service } from '../service.ts'

/** What could not be written is kept for the next time. */
export async function countCalls({ appCalls, db }: Pick<Service, 'appCalls' | 'db'>): Promise<void> {
  const counted = appCalls.take()
  if (counted.length === 0) return
  await addAppCalls(db.pool, counted, performance.now()).catch((error: unknown) => {
    appCalls.putBack(counted)
    throw error
  })
}

const countEveryMs = 10 * 60_000

/** Every process asks; one in ten minutes counts. */
export async function countLinks({ db }: Service): Promise<void> {
  await countAppLinks(db.pool, countEveryMs - 30_000)
}
