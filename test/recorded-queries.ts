/** Records the queries that the service sends to the database, with their connections. */
import { Client } from 'pg'

export type RecordedQuery = { readonly client: Client; readonly text: string; readonly values: readonly unknown[] }

/** The statements that all connections of this process send during the work, each text once; settings once for each connection. */
export async function recordQueries(work: () => Promise<void>): Promise<RecordedQuery[]> {
  const recorded = new Map<string, RecordedQuery>()
  const clients: Client[] = []
  const numberOf = (client: Client) => (clients.includes(client) ? clients.indexOf(client) : clients.push(client) - 1)
  // oxlint-disable-next-line typescript/unbound-method -- It is called with its own client below.
  const query = Client.prototype.query as (this: Client, ...sent: unknown[]) => unknown
  Client.prototype.query = function (this: Client, ...sent: unknown[]) {
    const [first, values] = sent as [string | { text?: string; values?: unknown[] }, unknown]
    const text = typeof first === 'string' ? first : first.text
    const given = typeof first === 'string' ? values : (first.values ?? values)
    if (text && /^\s*(with|select|insert|update|delete)\b/i.test(text)) {
      const key = text.includes('set_config(') ? `${numberOf(this)} ${text}` : text
      // The last time counts, in place and connection: the settings of that connection come before it.
      recorded.delete(key)
      recorded.set(key, { client: this, text, values: Array.isArray(given) ? given : [] })
    }
    return query.apply(this, sent)
  } as typeof Client.prototype.query
  try {
    await work()
  } finally {
    Client.prototype.query = query as typeof Client.prototype.query
  }
  return [...recorded.values()]
}
