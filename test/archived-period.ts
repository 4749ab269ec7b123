/** A service with a closed period whose files are written, for tests of the archive. */
import { expect } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closePeriod } from '../src/actions/money/close-period.ts'
import { verifyLog } from '../src/actions/proofs/verify-log.ts'
import type { Service } from '../src/actions/service.ts'
import type { Connection } from '../src/store/connection/database.ts'
import { verifyBooks } from '../src/store/verify/verify.ts'
import { newClient } from './client.ts'
import { callCommand } from './command.ts'
import { newestSigned, queryEach, sealAll } from './sealed-books.ts'
import { newApp, openTestService, operator, type Credentials, type TestService } from './service.ts'

export type ArchiveBench = Awaited<ReturnType<typeof openArchiveBench>>

/** `copied`: on a database that `fill` makes a copy of that one, with its app and its files. */
export async function openArchiveBench(
  copied?: {
    readonly from: { readonly folder: string; readonly credentials: Credentials }
    readonly fill: (empty: Connection) => Promise<unknown>
  },
  settings: Record<string, string> = {},
) {
  const folder = copied?.from.folder ?? (await mkdtemp(join(tmpdir(), 'billfold-archive-')))
  const opened: TestService = await openTestService(settings, {
    through: async (connection) => {
      await copied?.fill(connection)
      return connection
    },
  })
  const { service } = opened
  const credentials = copied?.from.credentials ?? (await newApp(service))
  const client = newClient(opened.app.fetch, credentials)
  const query = async <T>(sql: string, values: unknown[] = []) => (await service.db.pool.query(sql, values)).rows as T[]
  const environment = { DATABASE_URL: opened.databaseUrl }
  const command = async (...args: string[]) => {
    const ended = await callCommand(['archive', ...args], environment)
    return { exitCode: ended.exitCode, said: ended.stdout + ended.stderr }
  }
  return {
    opened,
    service,
    folder,
    credentials,
    client,
    query,
    environment,
    write: (period: number) => command('write', String(period), '--to', folder),
    drop: (period: number, from = folder) => command('drop', String(period), '--from', from),
    restore: (period: number, from = folder) => command('restore', String(period), '--from', from),
    settle: () => settle(service),
    close: async () => {
      await closePeriod(service.db.connection, operator)
      await settle(service)
    },
    /** What a verification of the books and of the log says. */
    verify: async () => {
      const faults: string[] = []
      const result = await verifyBooks(service.db.connection, { onFault: ({ message }) => void faults.push(message) })
      for await (const fault of verifyLog(service.db.pool, await newestSigned(service), 'USD'))
        faults.push(JSON.stringify(fault))
      const { wallets, transfers, refusals, balanceMinor } = result
      return { faults, wallets, transfers, refusals, balanceMinor }
    },
    stop: async () => {
      await opened.close()
      if (!copied) await rm(folder, { recursive: true })
    },
  }
}

/** As after EVENTS_DAYS, with everything sealed: a closed period can be dropped. */
export async function settle(service: Service): Promise<void> {
  for (const table of ['event_pages', 'journal', 'new_links']) await service.db.pool.query(`delete from ${table}`)
  await sealAll(service)
}

/** What was moved until now becomes that of some days ago, and the users a month older than that. Nothing of it may be sealed yet. */
export async function setBack({ db }: Service, days: number): Promise<void> {
  const entries = ['transfers', 'outcomes'].map(
    (table) => `alter table ${table} disable trigger user; grant update on ${table} to current_user;
      update ${table} set created_at = (created_at at time zone 'UTC' - interval '${days} days') at time zone 'UTC';
      alter table ${table} enable trigger user; revoke update on ${table} from current_user;`,
  )
  await queryEach(
    db.pool,
    `${entries.join('')} update positions set day = day - ${days};
    update users set created_at = created_at - interval '${days + 30} days'`,
  )
}

/** All rows of a closed period, as text. */
export async function rowsOf(query: ArchiveBench['query'], period: number): Promise<string[]> {
  const rows = async (table: string, key: string) =>
    (await query<{ row: string }>(`select t::text as row from ${table} t order by ${key}`)).map(({ row }) => row)
  return [
    ...(await rows(`closed_transfers_${period}`, 'wallet_id, sequence')),
    ...(await rows(`closed_outcomes_${period}`, 'reference_key')),
  ]
}

export function expectDone({ exitCode, said }: { readonly exitCode: number; readonly said: string }): void {
  expect({ exitCode, said }).toMatchObject({ exitCode: 0 })
}
