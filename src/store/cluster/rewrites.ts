import { isClosedTableSql } from '../closing/closings.ts'

const isAppendOnlySql = `relnamespace = 'public'::regnamespace and relkind = 'r'
  and (pg_class.relname in ('transfers', 'outcomes') or ${isClosedTableSql('pg_class.relname')})`

/**
 * How often append-only rows were changed, summed over the shards, and over the tables of the coordinator alone. A node that returns an error
 * instead of a number makes the statement fail.
 */
export const rewritesOnNodesSql = `
select coalesce(sum(count), 0)::bigint as count from (
  select result::bigint as count
  from (select oid::regclass as name from pg_class join pg_dist_partition on logicalrelid = oid where ${isAppendOnlySql}) t,
    run_command_on_placements(t.name,
      $$select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables where relid = '%s'::regclass$$)
  union all
  select n_tup_upd + n_tup_del from pg_stat_user_tables join pg_class on oid = relid where ${isAppendOnlySql}
) c`
