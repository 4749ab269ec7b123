/** A database as an earlier version left it, for tests of an upgrade. */
import { Client } from 'pg'
import { migrate, readMigrations } from '../src/store/migrations/migrate.ts'
import { testDatabase } from './postgres.ts'

/** With the migrations before the named one. `migrate(client)` applies it and the later ones. */
export async function openBeforeMigration(name: string) {
  const migrations = await readMigrations()
  const before = migrations.findIndex((migration) => /^\d+_(.*)$/.exec(migration.name)?.[1] === name)
  if (before < 0) throw new Error(`there is no migration ${name}`)
  const database = await testDatabase()
  const client = new Client(database.connection)
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await migrate(client, { migrations: migrations.slice(0, before) })
  const close = async () => {
    await client.end()
    await database.drop()
  }
  return { client, connection: database.connection, close }
}
