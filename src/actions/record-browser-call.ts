/** A client secret arrived from a browser: somebody put it where everyone can read it. That goes on record. */
import { insertAudit } from '../store/audit.ts'
import type { Service } from './service.ts'
import { newId } from './tokens.ts'

export async function recordBrowserCall(service: Service, clientId: unknown, address: string): Promise<void> {
  const app = typeof clientId === 'string' ? await service.apps.find(clientId) : undefined
  const subject = app ? `app:${app.clientId}` : 'app:unknown'
  service.log.warn('a client secret arrived from a browser', { clientId: app?.clientId })
  // One entry a minute for each app and address says it all; a flood must not fill the log.
  if (service.browserCalls.count(`${subject} ${address}`, service.now()).excess > 0) return
  await insertAudit(service.db.pool, {
    id: newId(service.now()),
    actor: subject,
    action: 'browser-call.refused',
    subject,
    address,
    detail: {},
  })
}
