/** The service's store of sandbox payments, on a separate test database. */
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
  const db = openDatabase(database.connection)
  const { pool } = db
  return {
    ...openSandboxPayments(db),
    clear: async () => void (await pool.query('delete from sandbox_payments; delete from work')),
    close: async () => {
      await pool.end()
      await database.drop()
    },
  }
}
