import type { About } from '../config.ts'
import { serviceLogoPath } from '../actions/apps/logo-path.ts'
import type { ServiceData } from './page-data.ts'

export function serviceData(about: About): ServiceData {
  const { name, supportUrl, supportEmail, termsUrl, privacyUrl } = about
  return {
    name,
    logo: serviceLogoPath(about),
    support: supportUrl ?? (supportEmail === undefined ? null : `mailto:${supportEmail}`),
    terms: termsUrl ?? null,
    privacy: privacyUrl ?? null,
  }
}
