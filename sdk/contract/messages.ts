/** The messages between the widget and the embedding page: one union and one parser for each direction. */
import type { AnyErrorCode } from './errors.ts'

export const MESSAGE_VERSION = 1

/** From the widget to the page that embeds it. */
export type WidgetMessage =
  /** The widget is ready and shows the wallet, or the top-up page if `page` is `topup`. */
  | { type: 'SERVICE_WALLET_LOADED'; version: 1; page?: 'topup' }
  /** The balance or the state of the wallet changed. `paid` is the amount just added by card; the page where it was paid sends it. */
  | { type: 'SERVICE_WALLET_UPDATED'; version: 1; paid?: number }
  /** The user wants to add money: open `url` in a window. The widget does not open it. */
  | { type: 'SERVICE_OPEN_TOPUP'; version: 1; url: string }
  /** The widget is ready and shows its sign-in form. */
  | { type: 'SERVICE_AUTH_REQUIRED'; version: 1 }
  /** The user signed in. Your backend verifies the one-time `linkCode` to prove that the user owns `serviceUserId`. */
  | { type: 'SERVICE_AUTH_SUCCESS'; version: 1; serviceUserId: string; linkCode: string }
  /** The user wants to sign out or to use another account. */
  | { type: 'SERVICE_LOGOUT_REQUEST'; version: 1 }
  /** The height of the content in CSS pixels. */
  | { type: 'SERVICE_RESIZE'; version: 1; height: number }
  /** The session expires soon: answer with SERVICE_SESSION. */
  | { type: 'SERVICE_SESSION_EXPIRING'; version: 1; expiresAt: string }
  | { type: 'SERVICE_SESSION_EXPIRED'; version: 1 }
  | { type: 'SERVICE_ERROR'; version: 1; code: AnyErrorCode }

/** From the page to the widget: renews the session in place. The widget accepts no other message. */
export type HostMessage = { type: 'SERVICE_SESSION'; version: 1; sessionToken: string }

export type WidgetMessageType = WidgetMessage['type']

const maxHeight = 100_000
const maxUrlLength = 2048

/** Returns a message with only its known fields, or null if `data` is not a valid message. */
export function parseWidgetMessage(data: unknown): WidgetMessage | null {
  const fields = fieldsOf(data)
  if (fields === null) return null
  const { type } = fields
  const version = MESSAGE_VERSION
  switch (type) {
    case 'SERVICE_WALLET_LOADED':
      return fields['page'] === 'topup' ? { type, version, page: 'topup' } : { type, version }
    case 'SERVICE_WALLET_UPDATED': {
      const { paid } = fields
      return typeof paid === 'number' && paid > 0 && paid < Infinity ? { type, version, paid } : { type, version }
    }
    case 'SERVICE_AUTH_REQUIRED':
    case 'SERVICE_LOGOUT_REQUEST':
    case 'SERVICE_SESSION_EXPIRED':
      return { type, version }
    case 'SERVICE_OPEN_TOPUP': {
      const { url } = fields
      return isHttpUrl(url) ? { type, version, url } : null
    }
    case 'SERVICE_AUTH_SUCCESS': {
      const { serviceUserId, linkCode } = fields
      return isServiceUserId(serviceUserId) && isMatch(linkCode, /^[\w.~-]{1,256}$/)
        ? { type, version, serviceUserId, linkCode }
        : null
    }
    case 'SERVICE_RESIZE': {
      const { height } = fields
      return typeof height === 'number' && height >= 0 && height <= maxHeight ? { type, version, height } : null
    }
    case 'SERVICE_SESSION_EXPIRING': {
      const { expiresAt } = fields
      return isTimestamp(expiresAt) ? { type, version, expiresAt } : null
    }
    case 'SERVICE_ERROR': {
      const { code } = fields
      return isMatch(code, /^[A-Z][A-Z0-9_]{0,63}$/) ? { type, version, code } : null
    }
    default:
      return null
  }
}

export function parseHostMessage(data: unknown): HostMessage | null {
  const fields = fieldsOf(data)
  if (fields?.type !== 'SERVICE_SESSION') return null
  const { sessionToken } = fields
  return isSessionToken(sessionToken) ? { type: 'SERVICE_SESSION', version: MESSAGE_VERSION, sessionToken } : null
}

export function isSessionToken(value: unknown): value is string {
  return isMatch(value, /^ws_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
}

export function isServiceUserId(value: unknown): value is string {
  return isMatch(value, /^su_[\w-]{16,64}$/)
}

function fieldsOf(data: unknown): Record<string, unknown> | null {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return null
  const fields = data as Record<string, unknown>
  return fields.version === MESSAGE_VERSION ? fields : null
}

function isMatch(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function isTimestamp(value: unknown): value is string {
  return isMatch(value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/) && !Number.isNaN(Date.parse(value))
}

function isHttpUrl(value: unknown): value is string {
  if (!isMatch(value, /^https?:\/\//) || value.length > maxUrlLength) return false
  try {
    return Boolean(new URL(value))
  } catch {
    return false
  }
}
