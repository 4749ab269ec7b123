/** The sandbox's payments in a database of the test's own, as the service keeps them. */
import type { SandboxStore } from '../../sandbox/payment-store.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { openSandboxPayments } from '../../src/store/sandbox-payments.ts'
import { testDatabase } from '../postgres.ts'

export type TestSandboxStore = SandboxStore & {
  readonly clear: () => Promise<void>
  readonly close: () => Promise<void>
}

export async function openSandboxStore(): Promise<TestSandboxStore> {
  const database = await testDatabase()
  const { pool } = openDatabase(database.connection)
  return {
    ...openSandboxPayments(pool),
    clear: async () => void (await pool.query('delete from sandbox_payments')),
    close: async () => {
      await pool.end()
      await database.drop()
    },
  }
}
