/** A connection of the writer that records the names of the statements it is sent. */
import type { Connection } from '../src/store/connection/database.ts'
import { openWriterClient, type WriterClient } from '../src/store/writer/connection.ts'

/** It waits for a lock for as long as a busy machine may need to release one. */
const lockTimeoutMs = 60_000

export async function openRecordedWriter(connection: Connection) {
  const sent: string[] = []
  const real = await openWriterClient(connection, lockTimeoutMs, () => {})
  const query = (asked: { readonly name: string }) => {
    sent.push(asked.name)
    return real.client.query(asked as never)
  }
  const writer: WriterClient = { ...real, client: { ...real.client, query: query as never } }
  return { writer, sent }
}
