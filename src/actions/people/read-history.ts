/** The history of an account for its user, from the audit log. It names no operator and no operator's reason. */
import { listAuditOf, type AuditRecord } from '../../store/audit.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import type { Service } from '../service.ts'

const eventOfAction = {
  'user.created': 'created',
  'user.signed-up': 'created',
  'user.signed-in': 'signed-in',
  'user.signed-out': 'signed-out',
  'user.device-ended': 'signed-out',
  'user.password-changed': 'password-changed',
  'user.password-reset': 'password-changed',
  'user.email-changed': 'email-changed',
  'user.name-changed': 'name-changed',
  'user.data-exported': 'data-exported',
  'link.connected': 'app-connected',
  'link.disconnected': 'app-disconnected',
  'wallet.frozen': 'frozen',
  'wallet.unfrozen': 'unfrozen',
} as const satisfies Record<string, string>

type Action = keyof typeof eventOfAction

export const accountActions: readonly string[] = Object.keys(eventOfAction)

export const accountEvents = [...new Set(Object.values(eventOfAction))]

export type AccountEvent = {
  readonly id: string
  readonly at: Date
  readonly event: (typeof accountEvents)[number]
  readonly by: 'you' | 'support'
  /** The app whose widget was used. */
  readonly appName: string | null
  readonly browser: string | null
  /** The user signed out of all apps. */
  readonly isEverywhere: boolean
}

const pageSize = 20

export async function readHistory(
  service: Pick<Service, 'db' | 'apps'>,
  { userId }: Session,
  before: string | undefined,
): Promise<{ readonly events: readonly AccountEvent[]; readonly nextBefore: string | null }> {
  const subjects = [`user:${userId}`, `wallet:${userId}`] as const
  const records = await listAuditOf(service.db.pool, subjects, { actions: accountActions, before, limit: pageSize + 1 })
  const page = records.slice(0, pageSize)
  const apps = new Map((await service.apps.list()).map((app) => [app.clientId, app.name]))
  const events = page.map((each) => toEvent(each, userId, apps))
  return { events, nextBefore: records.length > pageSize ? page.at(-1)!.id : null }
}

function toEvent(
  { id, at, actor, action, detail }: AuditRecord,
  userId: string,
  apps: ReadonlyMap<string, string>,
): AccountEvent {
  const { clientId, browser, everywhere } = detail
  return {
    id,
    at,
    event: eventOfAction[action as Action],
    by: actor === `user:${userId}` ? 'you' : 'support',
    appName: typeof clientId === 'string' ? (apps.get(clientId) ?? clientId) : null,
    browser: typeof browser === 'string' ? browser : null,
    isEverywhere: everywhere === true,
  }
}
