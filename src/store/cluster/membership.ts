/** What a server is in a Citus cluster. A plain PostgreSQL server is in none. */
import type { ClientBase } from 'pg'
import { DatabaseUnavailable } from '../connection/database-unavailable.ts'
import { one } from '../connection/rows.ts'

/** Whether the server has Citus, so that this database is, or will be, distributed. */
export const isClusterSql = `exists (select from pg_extension where extname = 'citus')`

/** Throws when the server does not have the role. `isCluster`: it has Citus. */
export type CheckRole = (client: Pick<ClientBase, 'query'>, isCluster: boolean) => Promise<void>

/** The coordinator's group is 0. Another node has the ledger once `distribute` has added its tables to the metadata, and created its views there. */
const groupSql = `select groupid as "group", to_regclass('public.positions') is not null and to_regclass('public.all_outcomes') is not null as "hasLedger"
  from pg_dist_local_group`

type Group = { group: number; hasLedger: boolean }

/** People and apps are only on the coordinator, and so are the locks that all processes share. */
export const checkCoordinator: CheckRole = async (client, isCluster) => {
  if (!isCluster) return
  const { rows } = await client.query<Group>(groupSql)
  if (one(rows).group !== 0) throw new DatabaseUnavailable('it is a worker of its cluster: name the coordinator')
}

export const checkNode: CheckRole = async (client, isCluster) => {
  if (!isCluster) throw new DatabaseUnavailable('it is no node of the cluster')
  const { rows } = await client.query<Group>(groupSql)
  if (!one(rows).hasLedger) throw new DatabaseUnavailable('it does not know the ledger: npx billfold distribute')
}
