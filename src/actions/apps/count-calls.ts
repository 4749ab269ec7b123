/** Writes the counts of calls, refused credentials and links that an app's page shows. */
import { addAppCalls, countAppLinks } from '../../store/calls/app-calls.ts'
import { addRefusedCredentials } from '../../store/calls/refused-credentials.ts'
import type { Service } from '../service.ts'

/** Counts that could not be written are kept for the next run. */
export async function countCalls({
  appCalls,
  refusedCredentials,
  db,
}: Pick<Service, 'appCalls' | 'refusedCredentials' | 'db'>): Promise<void> {
  await write(appCalls, (counted) => addAppCalls(db.pool, counted, performance.now()))
  await write(refusedCredentials, (counted) => addRefusedCredentials(db, counted, performance.now()))
}

type Counts<T> = { readonly take: () => T[]; readonly putBack: (counted: readonly T[]) => void }

async function write<T>({ take, putBack }: Counts<T>, add: (counted: readonly T[]) => Promise<void>): Promise<void> {
  const counted = take()
  if (counted.length === 0) return
  await add(counted).catch((error: unknown) => {
    putBack(counted)
    throw error
  })
}

const countEveryMs = 10 * 60_000

/** Every process calls this; one of them counts every ten minutes. */
export async function countLinks({ db }: Service): Promise<void> {
  await countAppLinks(db.pool, countEveryMs - 30_000)
}
