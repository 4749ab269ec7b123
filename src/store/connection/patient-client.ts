/** A connection for work of minutes, such as reading a year: the server ends it neither for a long statement nor for a pause. */
import { commandConnectMs, type Connection, type OpenClient } from './open-client.ts'
import { openClient } from './servers.ts'

const settings = { statement_timeout: '0', idle_in_transaction_session_timeout: '0' }

export async function withPatientClient<T>(
  connection: Connection,
  name: string,
  work: (client: OpenClient) => Promise<T>,
): Promise<T> {
  const client = await openClient(connection, { name, settings, connectWithinMs: commandConnectMs })
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
