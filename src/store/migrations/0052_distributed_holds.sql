-- Where the ledger is distributed over a Citus cluster, holds and their steps move to the node of their wallet. Without Citus, and
-- before `billfold distribute`, this does nothing.
do $$
declare
  moved text;
begin
  if to_regclass('pg_dist_partition') is null then
    return;
  end if;
  if not exists (select from pg_dist_partition where logicalrelid = 'wallets'::regclass and partmethod = 'h') then
    return;
  end if;
  -- The append-only triggers are created on every shard.
  perform set_config('citus.enable_unsafe_triggers', 'on', true);
  foreach moved in array array['holds', 'hold_steps'] loop
    if not exists (select from pg_dist_partition where logicalrelid = moved::regclass and partmethod = 'h') then
      perform create_distributed_table(moved::regclass, 'wallet_id', colocate_with := 'wallets');
    end if;
  end loop;
end $$;
