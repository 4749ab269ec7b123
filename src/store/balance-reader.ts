/** Balances by serviceUserId. Look-ups of the same moment share one query, as debits share one batch. */
import type { Database } from './database.ts'
import { findLinkedWallets, type LinkedWallet } from './wallets.ts'

export type Reader = { readonly find: (clientId: string, serviceUserId: string) => Promise<LinkedWallet | undefined> }

type Lookup = {
  readonly clientId: string
  readonly serviceUserId: string
  readonly resolve: (wallet: LinkedWallet | undefined) => void
  readonly reject: (error: unknown) => void
}

const maxBatch = 512
const maxConcurrent = 2

export function openReader(db: Database): Reader {
  let queue: Lookup[] = []
  let running = 0

  async function run(): Promise<void> {
    running++
    await new Promise((resolve) => setImmediate(resolve))
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch)
      queue = queue.slice(maxBatch)
      await answer(batch)
    }
    running--
  }

  async function answer(batch: Lookup[]): Promise<void> {
    try {
      const wallets = await findLinkedWallets(
        db.pool,
        batch.map((lookup) => lookup.serviceUserId),
      )
      for (const { clientId, serviceUserId, resolve } of batch) {
        const wallet = wallets.get(serviceUserId)
        resolve(wallet?.clientId === clientId ? wallet : undefined)
      }
    } catch (error) {
      for (const lookup of batch) lookup.reject(error)
    }
  }

  return {
    find: (clientId, serviceUserId) =>
      new Promise((resolve, reject) => {
        queue.push({ clientId, serviceUserId, resolve, reject })
        if (running < maxConcurrent) void run()
      }),
  }
}
