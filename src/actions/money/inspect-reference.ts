/** Shows the first use of a reference and every repeat. */
import { findArchived, type Archived } from '../../store/closing/archived-entries.ts'
import { counterAccountOfApp, findMismatch, serviceNamespace, type Mismatch } from '../../ledger/reference.ts'
import { parseReceiptCode } from '../../ledger/receipt-code.ts'
import type { App } from '../../store/apps.ts'
import { listHoldsByIds } from '../../store/books/hold-lists.ts'
import { isServiceOwn, listFirstUses, referenceKeyOf, type FirstUse } from '../../store/outcomes.ts'
import { listReferenceTypes } from '../../store/reference-types.ts'
import { listLaterUses, type LaterUse } from '../../store/repeats.ts'
import { listTransfersByKeys } from '../../store/transfers.ts'
import type { Transfer } from '../../store/wallets.ts'
import type { SeenHold } from '../../store/writer/stored-holds.ts'
import type { Service, WithDb } from '../service.ts'
import { holdNamespace } from './manage-holds.ts'

export type Inspected = {
  /** Undefined for the service's own references. */
  readonly app: App | undefined
  readonly first: FirstUse
  readonly later: readonly (LaterUse & { readonly mismatch: readonly Mismatch[] })[]
}

/** `owner` is a clientId or `service`; without it all namespaces are searched, and without a type all types in use. */
export async function inspectReference(
  service: Service,
  reference: { type: string | undefined; id: string; owner: string | undefined },
): Promise<Inspected[]> {
  const { type, id, owner } = reference
  if (type === undefined) return await inspectEveryType(service, id, owner)
  const apps = await service.apps.list()
  const owners: (App | undefined)[] =
    owner === serviceNamespace ? [undefined] : apps.filter((app) => !owner || app.clientId === owner)
  if (!owner) owners.push(undefined)
  const byKey = new Map(
    owners.map((app) => {
      const namespace = app ? counterAccountOfApp(app.clientId) : serviceNamespace
      return [referenceKeyOf({ namespace, type, id }), app] as const
    }),
  )
  const uses = await listFirstUses(service.db.pool, [...byKey.keys()])
  return await Promise.all(
    uses.map(async (first) => {
      const later = await listLaterUses(service.db.pool, first.referenceKey)
      return {
        app: byKey.get(first.referenceKey),
        first,
        later: later.map((use) => ({ ...use, mismatch: findMismatch(first, use) })),
      }
    }),
  )
}

async function inspectEveryType(service: Service, id: string, owner: string | undefined): Promise<Inspected[]> {
  const uses = (await findByReferenceId(service, id)).map(({ namespace, referenceType }) => ({
    type: referenceType,
    id,
    owner: ownerOf(namespace),
  }))
  const wanted = uses.filter((use) => owner === undefined || use.owner === owner).slice(0, maxInspected)
  return (await Promise.all(wanted.map((use) => inspectReference(service, use)))).flat()
}

/** One id is used with few types, so a page of uses is enough to choose a type. */
const maxInspected = 20

/** The clientId in a namespace or counter account, else `service`. */
export function ownerOf(account: string): string {
  return account.startsWith('app:') ? account.slice('app:'.length) : serviceNamespace
}

/** The owner of the namespace of an entry's reference: a clientId, or `service`. */
export function ownerOfEntry(entry: Transfer): string {
  return isServiceOwn(entry) ? serviceNamespace : entry.counterAccount.slice('app:'.length)
}

/** Like `inspectReference`, by the code on a receipt. Undefined when the text is no such code. */
export async function inspectReceipt(service: Service, code: string): Promise<Inspected[] | Archived | undefined> {
  const keys = parseReceiptCode(code)
  if (!keys) return undefined
  const found = await listTransfersByKeys(service.db.pool, keys)
  const archived = found.length === 0 ? await findArchived(service.db.pool, keys) : undefined
  if (archived) return archived
  const inspected = found.map((entry) =>
    inspectReference(service, { type: entry.referenceType, id: entry.referenceId, owner: ownerOfEntry(entry) }),
  )
  return (await Promise.all(inspected)).flat()
}

export type NamedUse = FirstUse & {
  /** `service`, or `app:<clientId>`. */
  readonly namespace: string
  readonly referenceType: string
  readonly referenceId: string
}

/** Holds have separate references: the same types are tried in the namespace of each app's holds. */
export async function findHoldsByReferenceId(service: WithDb, id: string, limit: number): Promise<SeenHold[]> {
  const used = (await listReferenceTypes(service.db.pool)).filter(({ namespace }) => namespace.startsWith('app:'))
  const keys = used.map(({ namespace, type }) =>
    referenceKeyOf({ namespace: holdNamespace(ownerOf(namespace)), type, id }),
  )
  return await listHoldsByIds(service.db.pool, keys, limit)
}

/** Finds every first use of this referenceId, of any type and owner, with one lookup of the outcomes' key per type in use. */
export async function findByReferenceId(service: WithDb, id: string): Promise<NamedUse[]> {
  const used = await listReferenceTypes(service.db.pool)
  const byKey = new Map(
    used.map(({ namespace, type }) => [referenceKeyOf({ namespace, type, id }), { namespace, type }] as const),
  )
  const uses = byKey.size === 0 ? [] : await listFirstUses(service.db.pool, [...byKey.keys()])
  return uses.map((use) => {
    const { namespace, type } = byKey.get(use.referenceKey)!
    return { ...use, namespace, referenceType: type, referenceId: id }
  })
}
