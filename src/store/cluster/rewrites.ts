import { isClosedTableSql } from '../closing/closings.ts'

/** How often append-only rows were changed, summed over the shards. A node that returns an error instead of a number makes the statement fail. */
export const rewritesOnNodesSql = `
select coalesce(sum(result::bigint), 0)::bigint as count
from (
  select oid::regclass as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind = 'r' and (relname in ('transfers', 'outcomes') or ${isClosedTableSql('relname')})
) t, run_command_on_placements(t.name,
  $$select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables where relid = '%s'::regclass$$)`
