/** What a reference was used for: first, and every time after that. */
import { counterAccountOfApp, findMismatch, serviceNamespace, type Mismatch } from '../../ledger/reference.ts'
import { parseReceiptCode } from '../../ledger/receipt-code.ts'
import type { App } from '../../store/apps.ts'
import { listFirstUses, referenceKeyOf, type FirstUse } from '../../store/outcomes.ts'
import { listLaterUses, type LaterUse } from '../../store/repeats.ts'
import { listTransfersByKeys } from '../../store/transfers.ts'
import type { Service } from '../service.ts'

export type Inspected = {
  /** Whose reference it is; undefined for the service's own. */
  readonly app: App | undefined
  readonly first: FirstUse
  readonly later: readonly (LaterUse & { readonly mismatch: readonly Mismatch[] })[]
}

/** In one namespace, or in all of them when none is named: `service` is the service's own, else a clientId. */
export async function inspectReference(
  service: Service,
  reference: { type: string; id: string; owner: string | undefined },
): Promise<Inspected[]> {
  const { type, id, owner } = reference
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

/** The same, by the code on a receipt. Undefined for what is no such code. */
export async function inspectReceipt(service: Service, code: string): Promise<Inspected[] | undefined> {
  const keys = parseReceiptCode(code)
  if (!keys) return undefined
  const found = await listTransfersByKeys(service.db.pool, keys)
  const inspected = found.map(({ counterAccount, referenceType, referenceId }) => {
    const owner = counterAccount.startsWith('app:') ? counterAccount.slice('app:'.length) : serviceNamespace
    return inspectReference(service, { type: referenceType, id: referenceId, owner })
  })
  return (await Promise.all(inspected)).flat()
}
