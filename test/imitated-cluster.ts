/** A cluster on one server that only claims to have Citus: the order and answers of its statements, not their distribution. */
import { Client } from 'pg'
import type { Connection } from '../src/store/connection/database.ts'

const imitationSql = `set allow_system_table_mods = on;
  insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
  select 99999, 'citus', 10, 2200, false, '0';
  create table pg_dist_local_group as select 0 as groupid;
  grant select on pg_dist_local_group to public;
  create function run_command_on_coordinator(command text) returns table (result text) language plpgsql
  as $$ begin return query execute command; end $$`

/** The same server named three times is a coordinator and two other nodes. */
export async function imitate(connection: Connection): Promise<Connection> {
  const superuser = new Client({ ...connection, user: 'postgres' })
  await superuser.connect()
  await superuser.query(imitationSql)
  await superuser.end()
  return { ...connection, others: [{ ...connection }, { ...connection }] }
}
