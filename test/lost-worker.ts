/** A cluster of servers that a test starts, one of whose workers leaves and comes back. */
import { describe, test } from 'bun:test'
import { findPrograms, startCluster, type CitusNode } from './citus-nodes.ts'
import { openClusterLedger, type ClusterLedger } from './cluster-ledger.ts'

export type Worker = {
  readonly port: number
  readonly leave: () => Promise<void>
  /** Nothing happens if it is there. */
  readonly comeBack: () => Promise<void>
}

const programs = await findPrograms()

/** Skipped where TEST_DATABASE_URL names no cluster on this machine. */
export function describeOnServers(define: () => void): void {
  describe.skipIf(programs === undefined)(
    'on servers of its own (TEST_DATABASE_URL names no cluster on this machine)',
    define,
  )
}

/** The title has one place, for how the worker leaves. */
export function testLoss(
  title: string,
  users: number,
  work: (ledger: ClusterLedger, worker: Worker) => Promise<void>,
): void {
  test.each([
    ['killed', 'kill', 'start'],
    ['stopped', 'freeze', 'thaw'],
  ] as const)(title, async (_, leave, comeBack) => {
    await withServers(users, async (ledger, { port, ...worker }) => {
      let isAway = false
      await work(ledger, {
        port,
        leave: async () => {
          await worker[leave]()
          isAway = true
        },
        comeBack: async () => {
          if (isAway) await worker[comeBack]()
          isAway = false
        },
      })
    })
  })
}

/** A ledger on two workers, the second of them, and the coordinator. */
export async function withServers(
  users: number,
  work: (ledger: ClusterLedger, worker: CitusNode, coordinator: CitusNode) => Promise<void>,
): Promise<void> {
  const { coordinator, workers, connection, remove } = await startCluster(programs!, 2)
  try {
    const ledger = await openClusterLedger(connection, { users })
    await work(ledger, workers[1]!, coordinator)
    await ledger.close()
  } finally {
    await remove()
  }
}
