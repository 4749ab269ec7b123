/**
 * Whether commits wait for a synchronous standby that is away. Every write would leave a server process waiting, up to
 * `max_connections`, so writes are refused until the standby is back. One connection asks, and it only reads.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { abandonedSql, within, type Connection, type OpenClient } from './open-client.ts'
import { one } from './rows.ts'

type Standby = {
  isLost: boolean
  isAsked: boolean
  /** Callers that wait for the answer to the next question. */
  readonly waiting: (() => void)[]
}

const standbys = new WeakMap<Connection, Standby>()

export function standbyOf(connection: Connection): { readonly isLost: boolean } {
  return stateOf(connection)
}

/**
 * While the standby is lost: calls back after a question that begins from now on, or when the questions end. A caller that comes after the
 * standby is back is not refused by an older answer.
 */
export function askStandby(connection: Connection, answered: () => void): void {
  stateOf(connection).waiting.push(answered)
}

function stateOf(connection: Connection): Standby {
  let standby = standbys.get(connection)
  if (!standby) standbys.set(connection, (standby = { isLost: false, isAsked: false, waiting: [] }))
  return standby
}

const askEveryMs = 500
/** While it is lost, callers wait for the next question. */
const askLostEveryMs = 50
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
      const waiting = standby.waiting.length
      const { rows } = await within(client, askWithinMs, client.query<{ n: number }>(`select ${abandonedSql} as n`))
      standby.isLost = one(rows).n > 0
      answer(standby, standby.isLost ? waiting : Infinity)
      await sleep(standby.isLost ? askLostEveryMs : askEveryMs, undefined, { ref: false })
    }
  } catch {
    // The database itself is away, which callers notice by themselves.
  } finally {
    standby.isLost = false
    standby.isAsked = false
    answer(standby, Infinity)
    client?.destroy()
  }
}

function answer({ waiting }: Standby, most: number): void {
  for (const answered of waiting.splice(0, most)) answered()
}
