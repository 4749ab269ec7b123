/** Balances by serviceUserId. Look-ups that arrive together share one query, each app its share of it, as debits share one batch. */
import type { Database } from './connection/database.ts'
import { DatabaseUnavailable } from './connection/database-unavailable.ts'
import { hedgedRead } from './connection/pool.ts'
import { enqueue, itemsOf, newFairQueue, removeItems, takeInTurn } from './writer/fair-queue.ts'
import { findLinkedWallets, type LinkedWallet } from './wallets.ts'

export type BalanceReader = {
  readonly find: (clientId: string, serviceUserId: string) => Promise<LinkedWallet | undefined>
}

type Lookup = {
  readonly clientId: string
  readonly serviceUserId: string
  readonly since: number
  readonly resolve: (wallet: LinkedWallet | undefined) => void
  readonly reject: (error: unknown) => void
}

const maxBatch = 512
const maxConcurrent = 2
/** The limit of each of the two reads of a batch. */
const answerWithinMs = 2_000

export function openBalanceReader(db: Database): BalanceReader {
  const queue = newFairQueue<Lookup>()
  let running = 0

  async function run(): Promise<void> {
    running++
    await new Promise((resolve) => setImmediate(resolve))
    while (queue.size > 0) {
      const batch: Lookup[] = []
      takeInTurn(queue, maxBatch, (lookup) => {
        batch.push(lookup)
        return 'taken'
      })
      await answer(batch)
    }
    running--
  }

  async function answer(batch: Lookup[]): Promise<void> {
    const serviceUserIds = batch.map((lookup) => lookup.serviceUserId)
    try {
      const wallets = await hedgedRead(db.pool, answerWithinMs, (reader) => findLinkedWallets(reader, serviceUserIds))
      for (const { clientId, serviceUserId, resolve } of batch) {
        const wallet = wallets.get(serviceUserId)
        resolve(wallet?.clientId === clientId ? wallet : undefined)
      }
    } catch (error) {
      for (const lookup of batch) lookup.reject(error)
      if (!(error instanceof DatabaseUnavailable)) return
      // What hung while the network was silent says nothing about now: look-ups that came lately are tried. For those that have
      // waited for long, the answer of another read would come too late.
      const before = performance.now() - answerWithinMs
      const isLate = ({ since }: Lookup) => since < before
      for (const lookup of itemsOf(queue)) if (isLate(lookup)) lookup.reject(error)
      removeItems(queue, isLate)
    }
  }

  return {
    find: (clientId, serviceUserId) =>
      new Promise((resolve, reject) => {
        enqueue(queue, clientId, { clientId, serviceUserId, since: performance.now(), resolve, reject })
        if (running < maxConcurrent) void run()
      }),
  }
}
