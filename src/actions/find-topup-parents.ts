/** The origins whose pages may have a top-up, and so the card form in it, in a frame. */
import { findTopup } from '../store/topups.ts'
import type { Service } from './service.ts'

export async function findTopupParents(service: Service, topupId: string): Promise<readonly string[]> {
  const topup = await findTopup(service.db.pool, topupId)
  const app = topup && (await service.apps.find(topup.clientId))
  return app?.isActive ? app.allowedIframeParents : []
}
