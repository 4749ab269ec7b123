/** A cluster on one server that only claims to have Citus: the order and answers of its statements, not their distribution. */
import { Client } from 'pg'
import type { Connection } from '../src/store/connection/database.ts'

const imitationSql = `set allow_system_table_mods = on;
  insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
  select 99999, 'citus', 10, 2200, false, '0';
  create table pg_dist_local_group as select 0 as groupid;
  grant select on pg_dist_local_group to public;
  create table pg_dist_node (nodeid int, nodename text, nodeport int, groupid int, noderole text, shouldhaveshards boolean, isactive boolean default true);
  insert into pg_dist_node values (1, 'coordinator', 5432, 0, 'primary', false), (2, 'worker1', 5432, 1, 'primary', true),
    (3, 'worker2', 5432, 2, 'primary', true);
  create table pg_dist_partition (logicalrelid oid, partmethod char);
  create table pg_dist_shard (shardid int, logicalrelid oid, shardminvalue text);
  create function worker_hash(uuid) returns int language sql as 'select 0';
  create function run_command_on_placements(regclass, text) returns table (result text) language sql as $$ select '0' $$;
  create table pg_dist_placement (shardid int, groupid int);
  create table citus_shards (shardid int, nodename text, nodeport int, citus_table_type text, shard_size bigint);
  create table pg_dist_background_job (job_id int, job_type text, state text);
  create table pg_dist_background_task (job_id int, task_id int, status text, retry_count int, message text);
  grant select on pg_dist_node, pg_dist_partition, pg_dist_shard, pg_dist_placement, citus_shards, pg_dist_background_job,
    pg_dist_background_task to public;
  create function run_command_on_all_nodes(command text) returns table (nodeid int, success boolean, result text) language plpgsql
  as $$ begin
    for nodeid, success in select n.nodeid, n.nodename <> 'away' from pg_dist_node n loop
      result := 'failed to connect';
      if success then execute command into result; end if;
      return next;
    end loop;
  end $$;
  create function citus_check_connection_to_node(nodename text, nodeport int) returns boolean language sql
  as $$ select nodename <> 'away' $$;
  create function master_run_on_worker(text[], int[], text[], boolean) returns table (success boolean) language sql
  as $$ select true $$;
  create function run_command_on_coordinator(command text) returns table (result text) language plpgsql
  as $$ begin return query execute command; end $$`

export async function asSuperuser(connection: Connection, sql: string): Promise<void> {
  const superuser = new Client({ ...connection, user: 'postgres' })
  await superuser.connect()
  await superuser.query(sql)
  await superuser.end()
}

/** The same server named three times is a coordinator and two other nodes. */
export async function imitate(connection: Connection): Promise<Connection> {
  await asSuperuser(connection, imitationSql)
  return { ...connection, others: [{ ...connection }, { ...connection }] }
}

/** Gives each worker half of the wallets and of the outcomes. A statement that writes a row of a worker named “away” fails. */
export const placeShards = `update pg_dist_node set nodeport = 5433 where nodename = 'worker2';
  insert into pg_dist_placement values (1, 1), (2, 2), (3, 1), (4, 2);
  create function get_shard_id_for_distribution_column(name text, value uuid) returns int language sql immutable
  as $$ select case name when 'wallets' then 1 else 3 end + get_byte(uuid_send(value), 15) % 2 $$;
  create function refuse_if_away() returns trigger language plpgsql as $$ begin
    if exists (select from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid where n.nodename = 'away'
      and p.shardid = get_shard_id_for_distribution_column(tg_table_name, (to_jsonb(new) ->> tg_argv[0])::uuid))
    then raise 'connection to the remote node failed' using errcode = '08006'; end if;
    return new;
  end $$;
  create trigger away before insert or update on wallets for each row execute function refuse_if_away('id');
  create trigger away before insert on outcomes for each row execute function refuse_if_away('reference_key')`

export const loseNode = (from: string, to: string) =>
  `update pg_dist_node set nodename = '${to}' where nodename = '${from}'`
