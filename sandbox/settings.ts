import { ProcessorUnavailable } from '../src/cards/processor.ts'
import { deliveryModes, type DeliveryMode } from './events.ts'
import type { SandboxStore } from './payment-store.ts'

/** The panel's settings, shared by every process. An outage makes the processor unavailable to the service, not to the panel. */
export type SandboxSettings = { readonly mode: DeliveryMode; readonly outage: boolean }

export const settingsId = 'settings'

export async function readSettings(store: SandboxStore): Promise<SandboxSettings> {
  const row = await store.find(settingsId)
  return row ? (JSON.parse(row.document) as SandboxSettings) : { mode: deliveryModes[0], outage: false }
}

/** Of two concurrent writes the later one wins. */
export async function writeSettings(store: SandboxStore, settings: SandboxSettings): Promise<void> {
  const document = JSON.stringify(settings)
  for (let tries = 0; tries < 20; tries += 1) {
    const version = ((await store.find(settingsId))?.version ?? 0) + 1
    if (await store.put({ id: settingsId, version, document, createdAt: new Date(0), dueAt: undefined })) return
  }
  throw new ProcessorUnavailable('busy', 'the settings of the sandbox are being changed by too many at once')
}
