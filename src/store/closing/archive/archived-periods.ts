/** The archived periods of the ledger: their entries are in files, and the database keeps what the ledger still needs of them. */
import type { Queryable } from '../../connection/database.ts'
import { replaceOnOneServer } from '../../cluster/renew-table.ts'
import { closedTable } from '../closings.ts'

export type Archive = {
  /** Of the closed period. */
  readonly id: number
  readonly archivedAt: Date
  /** Of the manifest. */
  readonly sha256: string
  readonly refusals: number
  readonly holds: number
  /** The SHA-256 of the rows of each table that stays, by its name without the period, and of the filter; earlier versions recorded none of it. */
  readonly carried: Readonly<Record<CarriedTable, string>> & { readonly filter?: string }
}

export const carriedTables = ['entries', 'references', 'wallet_ids', 'sums'] as const
export type CarriedTable = (typeof carriedTables)[number]

export async function listArchives(db: Queryable): Promise<Archive[]> {
  const { rows } = await db.query<Archive>(
    `select closing_id as id, archived_at as "archivedAt", sha256, refusals::float8 as refusals, holds::float8 as holds, carried
     from archives order by closing_id`,
  )
  return rows
}

export function carriedTable(name: CarriedTable, id: number): string {
  return `archived_${name}_${id}`
}

/** How many wallets a row of `archived_wallet_ids` has; the function `archived_outcomes` knows it too. */
export const walletsPerPart = 100

export const transferColumnNames = [
  'wallet_id',
  'sequence',
  'amount',
  'balance_after',
  'reference_key',
  'created_at',
  'counter_account',
  'reference_type',
  'reference_id',
  'description',
] as const

const union = (selects: readonly string[]) => selects.join(' union all ')

/** The statements that make every view of the ledger show these periods. */
export function viewsSql(closed: readonly number[], archived: readonly number[], isOnCluster: boolean): string[] {
  const last = archived.at(-1)
  const entries = last === undefined ? undefined : carriedTable('entries', last)
  const transfers = [
    'select *, false as is_archived from transfers',
    ...closed.map((id) => `select *, false from ${closedTable('transfers', id)}`),
    ...(entries ? [`select ${transferColumnNames.join()}, true from ${entries}`] : []),
  ]
  const outcomes = ['outcomes', ...closed.map((id) => closedTable('outcomes', id))].map(
    (name) => `select * from ${name}`,
  )
  const references = archived.map(
    (id) => `select ${id} as closing_id, ${blockColumns} from ${carriedTable('references', id)}`,
  )
  const ids = archived.map((id) => `select ${id} as closing_id, part, ids from ${carriedTable('wallet_ids', id)}`)
  const others = {
    archived_sums: last === undefined ? noSums : `select * from ${carriedTable('sums', last)}`,
    archived_references: union(references) || noReferences,
    archived_wallet_ids: union(ids) || noWalletIds,
  }
  return [
    `create or replace view all_transfers as ${union(transfers)}`,
    `create or replace view all_outcomes as ${union(outcomes)}`,
    `create or replace view archived_wallets as select wallet_id, sequence, ${entries ? 'peaks' : 'null::bytea as peaks'}
     from ${entries ?? 'transfers where false'}`,
    ...Object.entries(others).flatMap(([view, select]) => {
      const replaceSql = `create or replace view ${view} as ${select}`
      return isOnCluster ? replaceOnOneServer(view, replaceSql) : [replaceSql]
    }),
  ]
}

const widths = ['prefix_bits', 'wallet_bits', 'amount_bits', 'balance_bits', 'held_bits'] as const
const blockColumns = `first_key, keys, ${widths.join(', ')}, bits`
const noSums = `select null::text collate "C" as counter_account, null::date as day, null::numeric as debited, null::numeric as credited,
  null::bigint as transfers where false`
const noReferences = `select null::integer as closing_id, null::uuid as first_key, null::smallint as keys,
  ${widths.map((name) => `null::smallint as ${name}`).join(', ')}, null::bit varying as bits where false`
const noWalletIds = 'select null::integer as closing_id, null::integer as part, null::uuid[] as ids where false'
