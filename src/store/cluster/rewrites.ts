/** How often append-only rows were changed, summed over the shards. A node that returns an error instead of a number makes the statement fail. */
export const rewritesOnNodesSql = `
select coalesce(sum(result::bigint), 0)::bigint as count
from unnest(array['transfers', 'outcomes']::regclass[]) as t(name), run_command_on_placements(t.name,
  $$select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables where relid = '%s'::regclass$$)`
