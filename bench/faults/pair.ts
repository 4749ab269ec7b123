/** A primary and its synchronous standby for a fault run. The failover is in the middle of the run. */
import { startPair } from '../../test/standby.ts'
import { databaseOn, type BenchDatabase } from '../cluster.ts'

/** The data is on the disk of that folder: a long run writes more than fits into memory, where the temporary folder may be. */
export async function openPair(folder: string) {
  const pair = await startPair(folder)
  const { primary, asAdmin, standby } = pair
  const urlOf = ({ host, port }: typeof primary) => `postgres://billfold@${host}:${port}/billfold`
  /** The server that takes writes, as a superuser. */
  let server = asAdmin
  const database: BenchDatabase = {
    url: urlOf(primary),
    get connection() {
      return server
    },
    query: async (text, values) => await databaseOn('', server).query(text, values),
  }
  const failOver = async () => {
    await pair.failOver()
    server = { ...asAdmin, ...standby, user: asAdmin.user }
  }
  return {
    database,
    serviceConnection: primary,
    others: [{ connectionString: urlOf(standby) }],
    failOver,
    stop: pair.close,
  }
}
