/** Orders that carry an id, so that sending them twice has one effect. The id binds the content of the first one, permanently. */
import type { Queryable, Transaction } from '../connection/database.ts'
import { maybe, one } from '../connection/rows.ts'

export type FormOrder = {
  readonly id: string
  /** What the order is about, as in the audit log. */
  readonly subject: string
  readonly content: Readonly<Record<string, string>>
}

export type Binding =
  | { readonly kind: 'first' }
  | { readonly kind: 'repeat'; readonly result: object | null }
  /** The id belongs to an order with other content. `differs` names the fields. */
  | { readonly kind: 'other'; readonly differs: readonly string[] }

type Row = { subject: string; content: Record<string, string> | null; result: object | null }

/** Concurrent orders with one id wait here for the transaction of the first one, in all processes. */
export async function bindForm(tx: Transaction, { id, subject, content }: FormOrder): Promise<Binding> {
  const { rowCount } = await tx.query(
    'insert into operator_forms (id, subject, content) values ($1, $2, $3) on conflict (id) do nothing',
    [id, subject, JSON.stringify(content)],
  )
  if (rowCount === 1) return { kind: 'first' }
  const { rows } = await tx.query<Row>('select subject, content, result from operator_forms where id = $1', [id])
  const known = one(rows)
  if (known.subject !== subject) return { kind: 'other', differs: ['subject'] }
  const first = known.content
  const names = first === null ? [] : [...new Set([...Object.keys(first), ...Object.keys(content)])]
  const differs = names.filter((name) => first![name] !== content[name])
  return differs.length > 0 ? { kind: 'other', differs } : { kind: 'repeat', result: known.result }
}

/** False when the order already has a result, or the id is unknown. */
export async function updateFormResult(db: Queryable, id: string, result: object): Promise<boolean> {
  const { rowCount } = await db.query('update operator_forms set result = $2 where id = $1 and result is null', [
    id,
    JSON.stringify(result),
  ])
  return rowCount === 1
}

export async function findForm(db: Queryable, id: string): Promise<FormOrder | undefined> {
  const { rows } = await db.query<FormOrder>(
    'select id, subject, content from operator_forms where id = $1 and content is not null',
    [id],
  )
  return maybe(rows)
}
