/** Checks that the server has room for all connections of a service. */
import type { Queryable } from './open-client.ts'
import { one } from './rows.ts'

class ConnectionsRefused extends Error {
  override name = 'ConnectionsRefused'
}

const roomSql = `select current_setting('max_connections')::int
    - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true)::int, 0) as most,
  (select datconnlimit from pg_database where datname = current_database()) as for_database,
  (select rolconnlimit from pg_roles where rolname = current_user) as for_role,
  (select sum(numbackends)::int from pg_stat_database) as used`

/**
 * Refuses what can never fit, and returns a warning when other clients leave too little room. The connection that asks counts as
 * used.
 */
export async function checkConnections(db: Queryable, wanted: number): Promise<string | undefined> {
  const { rows } = await db.query<{ most: number; for_database: number; for_role: number; used: number }>(roomSql)
  const { most, for_database, for_role, used } = one(rows)
  // −1 means no limit.
  const limit = Math.min(most, ...[for_database, for_role].filter((given) => given >= 0))
  if (wanted > limit)
    throw new ConnectionsRefused(
      `This service may open ${wanted} connections (WORKERS × DATABASE_CONNECTIONS, and one), and the server takes ${limit}: lower DATABASE_CONNECTIONS or WORKERS, or raise max_connections.`,
    )
  if (wanted <= most - used + 1) return undefined
  return `this service may open ${wanted} connections, and the server has ${Math.max(0, most - used)} of ${most} left: lower DATABASE_CONNECTIONS or WORKERS, or raise max_connections`
}
