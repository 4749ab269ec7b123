/**
 * Closes the open period of the ledger: transfers and outcomes become tables of a closed period, and both begin again, empty. No row is
 * moved or changed. It takes some milliseconds, on a cluster half a second, during which batches wait; a batch before and a batch after it
 * see all of both periods.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sqlState } from '../connection/database-unavailable.ts'
import { findAwayNodes } from '../cluster/away-nodes.ts'
import { changeTables, distributeBesideSql } from '../cluster/renew-table.ts'
import type { Connection, OpenClient, Queryable } from '../connection/open-client.ts'
import { maybe, one } from '../connection/rows.ts'
import { locks } from '../locks.ts'
import { quoted } from '../migrations/tables.ts'
import { viewsSql } from './archive/archived-periods.ts'
import { closedTable, listClosings, periodsIn, type Closing } from './closings.ts'

/** A sentence for the operator; nothing was changed. */
export class ClosingRefused extends Error {
  override name = 'ClosingRefused'
}

export const ledgerTables = ['transfers', 'outcomes'] as const
type TableName = (typeof ledgerTables)[number]

/** Every batch waits while the lock is asked for, so it is asked for briefly, and again after a pause. */
const lockTimeoutMs = 250
const usualAttempts = 40
/** Another transaction has the lock; or it and this one wait for each other. */
const isLocked = (error: unknown) => ['55P03', '40P01'].includes(sqlState(error) ?? '')

/** Makes attempts until the tables are free. `attempt` begins and commits a transaction. */
async function whenUnlocked<T>(
  client: OpenClient,
  { signal, attempts = usualAttempts }: Pick<CloseOptions, 'signal' | 'attempts'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let made = 1; ; made++) {
    signal?.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      await client.query('rollback').catch(() => {})
      if (!isLocked(error)) throw error
      if (made === attempts) throw new ClosingRefused(await describeReaders(client, attempts))
      await sleep(250 + Math.random() * 250)
    }
  }
}

export type CloseOptions = {
  /** In the transaction of the closing, before it. */
  readonly record: (db: Queryable, id: number) => Promise<void>
  readonly signal?: AbortSignal
  readonly attempts?: number
}

export async function closeLedger(connection: Connection, client: OpenClient, options: CloseOptions): Promise<Closing> {
  await exchangeTables(connection, client, options, () => prepare(client, options.record))
  return one((await listClosings(client)).slice(-1))
}

/**
 * One short transaction, beside which no migration, no closing and no other exchange of a period runs. `prepare` returns the statements
 * that exchange the tables. On a cluster, `connection` asks the nodes whether they answer.
 */
export async function exchangeTables(
  connection: Connection,
  client: OpenClient,
  options: Pick<CloseOptions, 'signal' | 'attempts'>,
  prepare: () => Promise<readonly string[]>,
): Promise<void> {
  await refuseWithoutNodes(connection, client)
  const prepareAlone = async () => {
    await client.query('select pg_advisory_xact_lock($1)', [locks.migration])
    return [...(await prepare()), 'commit']
  }
  const askNodes = () => refuseWithoutNodes(connection, client)
  await whenUnlocked(client, options, async () => {
    if (client.isCluster()) return await changeTables(client, { lockTimeoutMs, prepare: prepareAlone, askNodes })
    await client.query(`begin; set local lock_timeout = ${lockTimeoutMs}`)
    const statements = await prepareAlone()
    // In one message: while they run, no batch can.
    await client.query(statements.join(';\n'))
  })
}

async function prepare(client: OpenClient, record: CloseOptions['record']): Promise<readonly string[]> {
  await refuseDuringUpgrade(client)
  const closings = await listClosings(client)
  const { rows } = await client.query('select 1 from outcomes limit 1')
  if (rows.length === 0) throw new ClosingRefused('There is nothing to close: the open period has no entries.')
  const id = closings.length + 1
  await record(client, id)
  const definitions: Definition[] = []
  for (const name of ledgerTables) definitions.push(await readDefinition(client, name))
  return [
    `lock table ${ledgerTables.join()} in access exclusive mode`,
    ...definitions.flatMap((definition) => renew(definition, id, client.isCluster())),
    ...viewsSql([...periodsIn(closings, 'database'), id], periodsIn(closings, 'files'), client.isCluster()),
    `insert into closings (id) values (${id})`,
  ]
}

/** Nothing is begun that would wait for a server of the cluster. */
export async function refuseWithoutNodes(connection: Connection, client: OpenClient): Promise<void> {
  if (!client.isCluster()) return
  const away = (await findAwayNodes(connection)).map(({ name }) => name)
  if (away.length > 0)
    throw new ClosingRefused(
      `Every server of the cluster must answer while a period is closed, written, archived or restored. These do not, and nothing was changed: ${away.join(', ')}.`,
    )
}

/** A database that was upgraded within the last hour. The migrations of an installation follow each other; before those of an upgrade is a pause. */
export const isUpgradingSql = `select 1 from (select applied_at, lag(applied_at) over (order by number) as before from billfold_migrations) m
  where applied_at > clock_timestamp() - interval '1 hour' and applied_at > before + interval '1 minute' limit 1`

/** A process of a version without periods, or without those of a cluster, would look for a reference in the open period alone. */
async function refuseDuringUpgrade(db: Queryable): Promise<void> {
  const { rows } = await db.query(isUpgradingSql)
  if (rows.length > 0)
    throw new ClosingRefused(
      'This database was upgraded within the last hour. A process of the earlier version, which may still run, might not find the references of a closed period. Close it later; nothing was changed.',
    )
}

export type Definition = {
  readonly name: TableName
  readonly owner: string
  readonly options: readonly string[]
  readonly indexes: readonly { readonly name: string; readonly sql: string; readonly constraint: string | null }[]
  readonly triggers: readonly string[]
  /** Null: those that an owner has by default. */
  readonly rights: readonly { readonly grantee: string; readonly privilege: string }[] | null
}

const definitionSql = `
select c.relname as name, quote_ident(pg_get_userbyid(c.relowner)) as owner, coalesce(c.reloptions, '{}') as options,
  (select json_agg(json_build_object('name', i.relname, 'sql', pg_get_indexdef(i.oid), 'constraint', pg_get_constraintdef(k.oid)))
    from pg_index x join pg_class i on i.oid = x.indexrelid left join pg_constraint k on k.conindid = i.oid and k.conrelid = c.oid
    where x.indrelid = c.oid) as indexes,
  (select json_agg(pg_get_triggerdef(t.oid)) from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers,
  case when c.relacl is not null then coalesce((
    select json_agg(json_build_object('privilege', a.privilege_type,
      'grantee', case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end))
    from aclexplode(c.relacl) a), '[]') end as rights
from pg_class c where c.oid = $1::regclass`

export async function readDefinition(db: Queryable, name: TableName): Promise<Definition> {
  const { rows } = await db.query<Definition>(definitionSql, [name])
  return one(rows)
}

/** Gives the table and its indexes away to the closed period, and creates it again as it was. */
function renew(
  { name, owner, options, indexes, triggers, rights }: Definition,
  id: number,
  isCluster: boolean,
): string[] {
  const closed = closedTable(name, id)
  return [
    `alter table ${name} rename to ${closed}`,
    ...indexes.map((index) => `alter index ${quoted(index.name)} rename to ${quoted(`closed_${id}_${index.name}`)}`),
    `revoke insert, update, delete, truncate on ${closed} from ${owner}`,
    `create table ${name} (like ${closed} including all excluding indexes)`,
    ...(options.length > 0 ? [`alter table ${name} set (${options.join(', ')})`] : []),
    ...indexes.map(({ name: index, sql, constraint }) =>
      constraint === null ? sql : `alter table ${name} add constraint ${quoted(index)} ${constraint}`,
    ),
    ...triggers,
    ...(isCluster ? [distributeBesideSql(name, name, closed)] : []),
    ...(rights === null
      ? []
      : [
          `revoke all on ${name} from ${owner}`,
          ...rights.map(({ grantee, privilege }) => `grant ${privilege} on ${name} to ${grantee}`),
        ]),
  ]
}

/** The transaction that has used the ledger longest. */
async function describeReaders(db: Queryable, attempts: number): Promise<string> {
  const { rows } = await db.query<{ pid: number; name: string; seconds: number }>(
    `select a.pid, a.application_name as name, round(extract(epoch from clock_timestamp() - a.xact_start))::int as seconds
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.relation in ('transfers'::regclass, 'outcomes'::regclass, 'closings'::regclass) and l.granted and a.pid <> pg_backend_pid()
       and l.database = (select oid from pg_database where datname = current_database())
     order by a.xact_start limit 1`,
  )
  const reader = maybe(rows)
  const who = reader
    ? ` The longest reads since ${reader.seconds} s: "${reader.name}", process ${reader.pid} of the server.`
    : ''
  return `The ledger was in use at each of ${attempts} attempts, and nothing was changed: a verification, an export or a backup may be under way.${who} Try again when it has ended.`
}
