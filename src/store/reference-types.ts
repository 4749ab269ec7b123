/**
 * The reference types in use. A search by referenceId alone needs them, because the key of an outcome is made of all
 * three parts. A process writes a type in the background when it first sees it; a debit only checks a set in memory.
 */
import { textArray } from './connection/arrays.ts'
import type { Database, Queryable } from './connection/database.ts'

/** Per namespace. An app that invents a type for each debit must not fill the table or the memory. */
const maxTypes = 200
const flushAfterMs = 100

export type ReferenceTypes = {
  readonly record: (namespace: string, type: string) => void
  readonly close: () => Promise<void>
}

type Used = { readonly namespace: string; readonly type: string }

export function openReferenceTypes(db: Database): ReferenceTypes {
  const known = new Map<string, Set<string>>()
  let held: Used[] = []
  let flushing: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  async function flush(): Promise<void> {
    timer = undefined
    await flushing
    const used = held
    held = []
    if (used.length === 0) return
    // A type that could not be written is forgotten, so that its next use writes it again.
    flushing = insertReferenceTypes(db.pool, used).catch(() =>
      used.forEach(({ namespace, type }) => known.get(namespace)?.delete(type)),
    )
    await flushing
  }

  return {
    record: (namespace, type) => {
      let types = known.get(namespace)
      if (!types) known.set(namespace, (types = new Set()))
      if (types.has(type) || types.size >= maxTypes) return
      types.add(type)
      held.push({ namespace, type })
      timer ??= setTimeout(() => void flush(), flushAfterMs)
    },
    close: async () => {
      clearTimeout(timer)
      await flush()
    },
  }
}

async function insertReferenceTypes(db: Queryable, used: readonly Used[]): Promise<void> {
  await db.query(
    `insert into reference_types (namespace, type)
     select namespace, type from unnest($1::text[], $2::text[]) as used(namespace, type)
     where (select count(*) from reference_types r where r.namespace = used.namespace) < ${maxTypes}
     order by 1, 2 on conflict do nothing`,
    [textArray(used, (each) => each.namespace), textArray(used, (each) => each.type)],
  )
}

/** Enough for a thousand apps with ten types each: a search for one referenceId looks up that many keys. */
const maxListed = 10_000

export async function listReferenceTypes(db: Queryable): Promise<Used[]> {
  const { rows } = await db.query<Used>(
    `select namespace, type from reference_types order by namespace, type limit ${maxListed}`,
  )
  return rows
}
