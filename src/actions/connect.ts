/** What a user gets who has just proved who they are: the link of the app, and a code that proves it to its backend. */
import type { App } from '../store/apps.ts'
import type { Queryable } from '../store/database.ts'
import { insertLinkCode } from '../store/link-codes.ts'
import { getOrInsertLink } from '../store/links.ts'
import { hashSecret, newLinkCode, newServiceUserId } from './tokens.ts'

export type Connected = { readonly kind: 'connected'; readonly serviceUserId: string; readonly linkCode: string }

const linkCodeLifetimeMs = 2 * 60_000

export async function connect(db: Queryable, app: App, userId: string, now: Date): Promise<Connected> {
  const { clientId } = app
  const link = await getOrInsertLink(db, { id: newServiceUserId(), clientId, userId })
  const linkCode = newLinkCode()
  const expiresAt = new Date(now.getTime() + linkCodeLifetimeMs)
  await insertLinkCode(db, { codeHash: hashSecret(linkCode), linkId: link.id, clientId, expiresAt })
  return { kind: 'connected', serviceUserId: link.id, linkCode }
}
