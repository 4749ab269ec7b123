/** The plans of recorded statements, on the connection that sent them and so with its settings. */
import type { RecordedQuery } from './recorded-queries.ts'

export type Node = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Plans?: Node[]
}

/** The plan for any values; and the one for these, where the connection may make one for them. */
export async function plansOf({ client, text, values }: RecordedQuery): Promise<Node[]> {
  const { rows: modes } = await client.query<{ plan_cache_mode: string }>('show plan_cache_mode')
  const mode = modes[0]!.plan_cache_mode
  await client.query(`set plan_cache_mode = force_generic_plan`)
  await client.query(`prepare looked_at as ${text}`)
  const execute = `execute looked_at${values.length > 0 ? `(${values.map(() => 'null').join(', ')})` : ''}`
  const plans = [await client.query(`explain (format json) ${execute}`)]
  await client.query(`deallocate looked_at`)
  await client.query(`set plan_cache_mode = ${mode}`)
  const all = plans.map(({ rows }) => toPlan(rows))
  return mode === 'auto' ? [...all, await planFor({ client, text, values })] : all
}

export async function planFor({ client, text, values }: RecordedQuery): Promise<Node> {
  return toPlan((await client.query(`explain (format json) ${text}`, [...values])).rows)
}

function toPlan(rows: Record<string, unknown>[]): Node {
  const written = rows[0]!['QUERY PLAN'] as string | [{ Plan: Node }]
  return (typeof written === 'string' ? (JSON.parse(written) as [{ Plan: Node }]) : written)[0].Plan
}

/**
 * Walks of large tables by anything but a condition on one of the indexes they may be walked by. With `firstColumns`, by index, the
 * condition must be on the first column: one on a later column reads the whole index.
 */
export function wrongWalks(
  node: Node,
  tables: readonly string[],
  allowed: readonly string[],
  firstColumns?: ReadonlyMap<string, string>,
): string[] {
  const below = (node.Plans ?? []).flatMap((each) => wrongWalks(each, tables, allowed, firstColumns))
  const { 'Relation Name': table, 'Index Name': index, 'Node Type': type, 'Index Cond': condition } = node
  // A bitmap of a table is made by the scan of an index below it, which names no table. A Tid Scan reads the row with an address.
  const isLook = ['ModifyTable', 'Bitmap Heap Scan', 'Tid Scan'].includes(type)
  const isByKey = (name: string) =>
    allowed.includes(name) && condition !== undefined && condition.includes(firstColumns?.get(name) ?? '')
  const isWrong =
    index === undefined
      ? !isLook && table !== undefined && tables.includes(table)
      : (table === undefined || tables.includes(table)) && !isByKey(index)
  return isWrong ? [`${type} ${table ?? ''} by ${index ?? 'nothing'}`, ...below] : below
}
