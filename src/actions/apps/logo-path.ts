/** The path of a logo on this service. It changes with the logo's URL, so browsers may cache it. */
import { hash } from 'node:crypto'
import type { About } from '../../config.ts'
import type { App } from '../../store/apps.ts'

export function logoPath({ clientId, logoUrl }: Pick<App, 'clientId' | 'logoUrl'>): string | null {
  return logoUrl === null ? null : `/widget/logo/${encodeURIComponent(clientId)}?v=${markOf(logoUrl)}`
}

/** The service's own logo; mails put PUBLIC_URL before it. */
export function serviceLogoPath({ logoUrl }: Pick<About, 'logoUrl'>): string | null {
  return logoUrl === undefined ? null : `/widget/logo?v=${markOf(logoUrl)}`
}

function markOf(logoUrl: string): string {
  return hash('sha256', logoUrl, 'hex').slice(0, 8)
}
