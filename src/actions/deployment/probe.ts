/**
 * Shows how a request from outside arrives: the doctor calls /healthz through PUBLIC_URL with a token that only SECRETS_KEY can
 * make, and the answer contains the address and headers that the service saw.
 */
import type { Service } from '../service.ts'
import type { Secrets } from '../secrets/open-secrets.ts'

export const probeHeader = 'x-billfold-probe'
const context = { purpose: 'probe', id: 'doctor' }
const goodForMs = 60_000

export async function sealProbe(secrets: Secrets, now: Date): Promise<string> {
  return await secrets.seal(String(now.getTime()), context)
}

export async function isProbe({ secrets, now }: Pick<Service, 'secrets' | 'now'>, token: string): Promise<boolean> {
  try {
    return Math.abs(Number(await secrets.unseal(token, context)) - now().getTime()) < goodForMs
  } catch {
    return false
  }
}
