/**
 * Whether commits wait for a synchronous standby that is away. Every write would leave a server process waiting, up to
 * `max_connections`, so writes are refused until the standby is back. One connection asks, and it only reads.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { abandonedSql, within, type Connection, type OpenClient } from './open-client.ts'
import { one } from './rows.ts'

type Standby = { isLost: boolean; isAsked: boolean }

const standbys = new WeakMap<Connection, Standby>()

export function standbyOf(connection: Connection): { readonly isLost: boolean } {
  return stateOf(connection)
}

function stateOf(connection: Connection): Standby {
  let standby = standbys.get(connection)
  if (!standby) standbys.set(connection, (standby = { isLost: false, isAsked: false }))
  return standby
}

const askEveryMs = 500
const askWithinMs = 1_000
/** A commit counts as abandoned a little later than its caller gives up. */
const firstQuestions = 4

/** Called when a connection was silent: its commit may wait for the standby. Returns when no commit does. */
export async function watchStandby(connection: Connection, open: () => Promise<OpenClient>): Promise<void> {
  const standby = stateOf(connection)
  if (standby.isAsked) return
  standby.isAsked = true
  let client: OpenClient | undefined
  try {
    client = await open()
    for (let asked = 1; asked <= firstQuestions || standby.isLost; asked++) {
      const { rows } = await within(client, askWithinMs, client.query<{ n: number }>(`select ${abandonedSql} as n`))
      standby.isLost = one(rows).n > 0
      await sleep(askEveryMs, undefined, { ref: false })
    }
  } catch {
    // The database itself is away, which callers notice by themselves.
  } finally {
    standby.isLost = false
    standby.isAsked = false
    client?.destroy()
  }
}
