/** Loads the files of an archived period into new tables, and exchanges them for what stayed of it. */
import type { Connection, OpenClient, Queryable } from '../../connection/open-client.ts'
import { plainArray, textArray } from '../../connection/arrays.ts'
import { isSpread } from '../../cluster/agreement.ts'
import { distributeBesideSql, tableSettingsSql } from '../../cluster/renew-table.ts'
import { quoted } from '../../migrations/tables.ts'
import { exchangeTables, ledgerTables, readDefinition, type CloseOptions, type Definition } from '../close-ledger.ts'
import { closedTable, listClosings, periodsIn } from '../closings.ts'
import { ArchiveRefused, parseEntryLine, parseOutcomeLine, type Entry, type OtherOutcome } from './archive-file.ts'
import type { Manifest } from './archive-file.ts'
import { carriedTable, carriedTables, viewsSql } from './archived-periods.ts'
import type { CompareOptions } from './compare-archive.ts'
import { restartRound } from './drop-period.ts'
import { readArchiveFile } from './read-archive-file.ts'
import type { LedgerTables } from './write-archive.ts'

/** Of a period that is being loaded. Nothing reads them. */
export const restoredTables = (period: number): LedgerTables => ({
  transfers: `restored_transfers_${period}`,
  outcomes: `restored_outcomes_${period}`,
})

/** The statement that removes what a refused run has made. After the exchange those names are gone. */
export const deleteRestored = (period: number) => `drop table if exists ${Object.values(restoredTables(period)).join()}`

type LoadOptions = Pick<CompareOptions, 'openFile' | 'onProgress'>

/** What an interrupted run left is replaced. */
export async function loadPeriod(client: OpenClient, manifest: Manifest, options: LoadOptions): Promise<void> {
  const { period } = manifest
  const definitions = await Promise.all(ledgerTables.map((name) => readDefinition(client, name)))
  if (isSpread(client)) await client.query(tableSettingsSql)
  for (const definition of definitions)
    for (const sql of createSql(definition, period, isSpread(client))) await client.query(sql)
  const load = openLoad(client, restoredTables(period), manifest, options.onProgress)
  for await (const lines of readArchiveFile(manifest.entries, options.openFile)) await load.entries(lines)
  for await (const lines of readArchiveFile(manifest.outcomes, options.openFile)) await load.outcomes(lines)
  for (const definition of definitions) for (const sql of finishSql(definition, period)) await client.query(sql)
}

function createSql({ name, options }: Definition, period: number, isOnCluster: boolean): string[] {
  const table = restoredTables(period)[name]
  return [
    `drop table if exists ${table}`,
    `create table ${table} (like ${name} including all excluding indexes)`,
    ...(options.length > 0 ? [`alter table ${table} set (${options.join(', ')})`] : []),
    ...(isOnCluster ? [distributeBesideSql(table, name, name)] : []),
  ]
}

/** As a closing leaves them. */
function finishSql({ name, owner, indexes, triggers }: Definition, period: number): string[] {
  const table = restoredTables(period)[name]
  return [
    ...indexes.map(({ name: index, sql, constraint }) => {
      const closed = quoted(`closed_${period}_${index}`)
      return constraint === null
        ? sql.replace(
            /^CREATE (UNIQUE )?INDEX \S+ ON \S+ /,
            (_, unique = '') => `create ${unique}index ${closed} on ${table} `,
          )
        : `alter table ${table} add constraint ${closed} ${constraint}`
    }),
    ...triggers.map((trigger) => trigger.replace(/ ON \S+ FOR EACH /, ` on ${table} for each `)),
    `revoke insert, update, delete, truncate on ${table} from ${owner}`,
    `vacuum (freeze, analyze) ${table}`,
  ]
}

type EntryRow = Entry & { readonly walletId: string; readonly sequence: number; readonly balanceMinor: number }

function wrong(name: string): never {
  throw new ArchiveRefused(`${name} has a line that is not one of an archive.`)
}

function openLoad(
  client: Queryable,
  tables: LedgerTables,
  { entries: { file, rows: expected }, outcomes }: Manifest,
  onProgress: CompareOptions['onProgress'],
) {
  let wallet = { walletId: '', sequence: 0, balanceMinor: 0 }
  let loaded = 0
  const toRow = (line: string): EntryRow | undefined => {
    const parsed = parseEntryLine(line) ?? wrong(file)
    if ('wallet' in parsed) {
      const [walletId, first, balanceMinor] = parsed.wallet
      wallet = { walletId, sequence: first - 1, balanceMinor }
      return undefined
    }
    const { walletId, sequence, balanceMinor } = wallet
    wallet = { walletId, sequence: sequence + 1, balanceMinor: balanceMinor + parsed.entry.amountMinor }
    return { ...parsed.entry, ...wallet }
  }
  return {
    entries: async (lines: readonly string[]) => {
      const rows = lines.flatMap((line) => toRow(line) ?? [])
      await insertEntries(client, tables, rows)
      onProgress?.((loaded += rows.length), expected)
    },
    outcomes: async (lines: readonly string[]) =>
      await insertOutcomes(
        client,
        tables.outcomes,
        lines.map((line) => parseOutcomeLine(line) ?? wrong(outcomes.file)),
      ),
  }
}

const timeSql = `timestamptz 'epoch' + microseconds * interval '1 microsecond'`

async function insertEntries(client: Queryable, { transfers, outcomes }: LedgerTables, rows: readonly EntryRow[]) {
  const values = [
    plainArray(rows, ({ walletId }) => walletId),
    plainArray(rows, ({ sequence }) => sequence),
    plainArray(rows, ({ amountMinor }) => amountMinor),
    plainArray(rows, ({ balanceMinor }) => balanceMinor),
    plainArray(rows, ({ referenceKey }) => referenceKey),
    plainArray(rows, ({ microseconds }) => microseconds),
  ]
  // A cluster would read what two inserts of one statement have in common from a file, on every server.
  await client.query(
    `insert into ${transfers} (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id, description)
     select wallet_id, sequence, amount, balance_after, reference_key, ${timeSql}, counter_account, reference_type, reference_id, description
     from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::float8[], $7::text[], $8::text[], $9::text[], $10::text[])
       as e(wallet_id, sequence, amount, balance_after, reference_key, microseconds, counter_account, reference_type, reference_id, description)`,
    [
      ...values,
      textArray(rows, ({ counterAccount }) => counterAccount),
      textArray(rows, ({ referenceType }) => referenceType),
      textArray(rows, ({ referenceId }) => referenceId),
      textArray(rows, ({ description }) => description),
    ],
  )
  await client.query(
    `insert into ${outcomes} (reference_key, wallet_id, amount, balance, sequence, created_at, held)
     select reference_key, wallet_id, amount, balance_after, sequence, ${timeSql}, held
     from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::float8[], $7::bigint[])
       as e(wallet_id, sequence, amount, balance_after, reference_key, microseconds, held)`,
    [...values, plainArray(rows, ({ heldMinor }) => heldMinor)],
  )
}

async function insertOutcomes(client: Queryable, table: string, rows: readonly OtherOutcome[]) {
  await client.query(
    `insert into ${table} (reference_key, wallet_id, amount, balance, created_at, refusal, held, is_hold)
     select reference_key, wallet_id, amount, balance, ${timeSql}, nullif(result, 'HOLD'), held, case result when 'HOLD' then true end
     from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::float8[], $6::text[], $7::bigint[])
       as o(reference_key, wallet_id, amount, balance, microseconds, result, held)`,
    [
      plainArray(rows, ({ referenceKey }) => referenceKey),
      plainArray(rows, ({ walletId }) => walletId),
      plainArray(rows, ({ amountMinor }) => amountMinor),
      plainArray(rows, ({ balanceMinor }) => balanceMinor),
      plainArray(rows, ({ microseconds }) => microseconds),
      textArray(rows, ({ result }) => result),
      plainArray(rows, ({ heldMinor }) => heldMinor),
    ],
  )
}

/** Either all of it happens or nothing. */
export async function swapRestored(
  connection: Connection,
  client: OpenClient,
  period: number,
  options: CloseOptions,
): Promise<void> {
  await exchangeTables(connection, client, options, async () => {
    const closings = await listClosings(client)
    const archived = periodsIn(closings, 'files')
    if (archived.at(-1) !== period)
      throw new ArchiveRefused(`Period ${period} is not the newest archived one any more.`)
    await options.record(client, period)
    await restartRound(client)
    await client.query('delete from archives where closing_id = $1', [period])
    const closed = [...periodsIn(closings, 'database'), period].sort((a, b) => a - b)
    return [
      `lock table closings in access exclusive mode`,
      ...ledgerTables.map(
        (name) => `alter table ${restoredTables(period)[name]} rename to ${closedTable(name, period)}`,
      ),
      ...viewsSql(closed, archived.slice(0, -1), isSpread(client)),
      `drop table ${carriedTables.map((name) => carriedTable(name, period)).join()}`,
    ]
  })
}
