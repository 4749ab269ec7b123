/** Checks what a deployment needs from outside: its mail server, its card processor, and the way in through PUBLIC_URL. */
import { connect as connectTls } from 'node:tls'
import type { Endpoint } from '../../cards/stripe/stripe-account.ts'
import type { Config } from '../../config.ts'
import type { Log } from '../../platform/log.ts'
import { version } from '../../platform/version.ts'
import type { Check } from '../apps/examine-embedding.ts'
import { openOidcProvider } from '../operators/oidc/provider.ts'
import { tryMailServer } from '../mails/send-mail.ts'
import type { Secrets } from '../secrets/open-secrets.ts'
import { stripeSettings } from '../topups/open-processor.ts'
import { probeHeader, sealProbe } from './probe.ts'

export async function checkMail({ mail: { smtpUrl }, isProduction }: Config): Promise<Check> {
  const name = 'Mail server'
  if (smtpUrl === undefined)
    return {
      name,
      state: 'warn',
      text: 'There is none: mails are written to files in DATA_DIR/mail.',
      fix: 'SMTP_URL=smtps://…',
    }
  const { protocol, hostname } = new URL(smtpUrl)
  const said = await tryMailServer(smtpUrl)
  if (said !== undefined)
    return {
      name,
      state: 'bad',
      text: `${hostname} refuses to send: ${said}`,
      fix: 'SMTP_URL: host, port, user and password. docs/operations/runbooks.md#mail-is-down.',
    }
  const isOpen = protocol === 'smtp:' && isProduction && !/^(localhost|127\.|\[::1\])/.test(hostname)
  if (!isOpen) return { name, state: 'good', text: `${hostname} accepts mails.` }
  const text = `${hostname} accepts mails, but smtp:// encrypts only if the server offers it.`
  return { name, state: 'warn', text, fix: 'SMTP_URL=smtps://…:465, or append ?requireTLS=true.' }
}

/** Empty if operators sign in with passwords alone. */
export async function checkOidc(config: Config, log: Log): Promise<Check[]> {
  if (!config.oidc) return []
  const name = 'Identity provider'
  const problem = await openOidcProvider(config, config.oidc, log).examine()
  if (problem === undefined)
    return [{ name, state: 'good', text: `${config.oidc.issuer} answers, with that very name.` }]
  return [
    { name, state: 'bad', text: problem, fix: 'OIDC_ISSUER. docs/operators.md#sign-in-with-the-companys-own-account.' },
  ]
}

export async function checkProcessor({ cards, publicUrl }: Config): Promise<Check[]> {
  const name = 'Card processor'
  if (cards.processor !== 'stripe')
    return [
      cards.processor === 'none'
        ? { name, state: 'good', text: 'None: there are no card top-ups.' }
        : { name, state: 'warn', text: 'The sandbox: its money is play money.', fix: 'docs/taking-cards.md.' },
    ]
  const { neededEvents, readStripeAccount } = await import('../../cards/stripe/stripe-account.ts')
  const account = await readStripeAccount(stripeSettings(cards))
  if (account.kind !== 'known')
    return [
      {
        name,
        state: 'bad',
        text: `Stripe ${account.kind === 'refused' ? 'refuses STRIPE_SECRET_KEY' : 'cannot be reached'}: ${account.said}`,
        fix:
          account.kind === 'refused'
            ? 'The key was rolled, or belongs to another account: copy it again from the dashboard.'
            : 'Let this machine reach api.stripe.com:443. docs/operations/runbooks.md#the-card-processor-is-away.',
      },
    ]
  const mode = account.isLive ? 'live' : 'test'
  return [
    { name, state: 'good', text: `Stripe accepts the key, in ${mode} mode.` },
    checkWebhook(account.endpoints, `${publicUrl}/api/processor/stripe`, neededEvents),
  ]
}

function checkWebhook(endpoints: readonly Endpoint[] | undefined, url: string, neededEvents: readonly string[]): Check {
  const name = 'Webhook'
  if (!endpoints)
    return { name, state: 'unknown', text: `The key may not list endpoints. Make sure that there is one for ${url}.` }
  const own = endpoints.find((endpoint) => endpoint.url === url)
  if (!own)
    return {
      name,
      state: 'bad',
      text: `Stripe has no endpoint ${url}: the service learns of payments late, by polling.`,
      fix: 'docs/taking-cards.md, "The webhook endpoint".',
    }
  if (!own.isEnabled)
    return { name, state: 'bad', text: `The endpoint ${url} is disabled.`, fix: 'Enable it in the dashboard.' }
  const missing = own.events.includes('*') ? [] : neededEvents.filter((event) => !own.events.includes(event))
  if (missing.length === 0) return { name, state: 'good', text: `Stripe sends all needed events to ${url}.` }
  return {
    name,
    state: 'warn',
    text: `Stripe does not send ${missing.join(', ')}.`,
    fix: 'Add them to the endpoint.',
  }
}

const answerWithinMs = 5_000

/** A documentation address (RFC 5737): if the service sees this one, callers can forge their address. */
const forged = '203.0.113.77'

export async function checkPublicUrl(config: Config, secrets: Secrets, now: Date): Promise<Check[]> {
  const { publicUrl, isProduction } = config
  // A key that does not exist yet is not created: no service could read the probe.
  const hasKey = (await secrets.knownKeys()).length > 0
  const probe = hasKey ? { [probeHeader]: await sealProbe(secrets, now) } : {}
  const headers = { ...probe, 'x-forwarded-for': forged }
  const name = 'PUBLIC_URL'
  let response: Response
  try {
    response = await ask(`${publicUrl}/healthz`, headers)
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    const state = isProduction ? 'bad' : 'warn'
    return [{ name, state, text: `${publicUrl} does not answer: ${said}`, fix: publicUrlFix(said, publicUrl) }]
  }
  const body = await readJson(response)
  if (response.status !== 200 || body?.['status'] !== 'ok')
    return [
      {
        name,
        state: 'bad',
        text: `${publicUrl}/healthz answers ${response.status}, and not as Billfold does.`,
        fix: 'Configure the proxy to pass every path unchanged to the service.',
      },
    ]
  const seen = body['seen'] as Seen | undefined
  return [
    { name, state: 'good', text: `${publicUrl} answers.` },
    ...(seen ? checkSeen(config, seen) : [unseen]),
    await checkMetrics(publicUrl),
    ...(publicUrl.startsWith('https:') ? [await checkCertificate(publicUrl, now), checkHsts(response)] : []),
  ]
}

const unseen: Check = {
  name: 'Proxy headers',
  state: 'unknown',
  text: 'The service has another SECRETS_KEY, or is older: it does not report which address it sees.',
  fix: 'Run this command with the settings of the service, in its folder or container.',
}

function publicUrlFix(said: string, publicUrl: string): string {
  if (/certificate|self.signed|CERT|altname/i.test(said))
    return 'The certificate: check its name, its chain and its expiry date. Name a private authority in NODE_EXTRA_CA_CERTS.'
  const { protocol, port } = new URL(publicUrl)
  const asked = port || (protocol === 'https:' ? '443' : '80')
  return `Check that the service runs, that the name is in the DNS, and that proxy and firewall allow port ${asked}.`
}

type Seen = { readonly version: string; readonly address: string; readonly forwardedFor: readonly string[] }

function checkSeen({ trustedProxies }: Config, seen: Seen): Check[] {
  return [checkProxies(trustedProxies, seen), checkSameVersion(seen)]
}

/** Each proxy appends one address to X-Forwarded-For; a proxy that replaces the header has removed the forged one. */
function checkProxies(trusted: number, { address, forwardedFor }: Seen): Check {
  const name = 'Proxy headers'
  const proxies = forwardedFor.filter((hop) => hop !== forged).length
  const how = `${proxies} prox${proxies === 1 ? 'y adds' : 'ies add'} to X-Forwarded-For, TRUSTED_PROXIES is ${trusted}`
  const fix = `TRUSTED_PROXIES=${proxies}`
  if (address === forged || trusted > proxies)
    return { name, state: 'bad', text: `${how}: callers can forge their address and bypass every limit.`, fix }
  if (trusted < proxies)
    return { name, state: 'bad', text: `${how}: all callers seem to have one address, and block each other.`, fix }
  return { name, state: 'good', text: `${how}: the service sees this machine as ${address}.` }
}

function checkSameVersion(seen: Seen): Check {
  const name = 'Version'
  if (seen.version === version) return { name, state: 'good', text: `${version}, of the service and of this command.` }
  const text = `The service has version ${seen.version}, this command ${version}.`
  return { name, state: 'warn', text, fix: 'Restart the service, or run the command in its folder or container.' }
}

async function checkMetrics(publicUrl: string): Promise<Check> {
  const name = '/metrics'
  const status = await ask(`${publicUrl}/metrics`, { 'x-forwarded-for': '127.0.0.1' }).then(
    (response) => response.status,
    () => 0,
  )
  if (status !== 200) return { name, state: 'good', text: 'It is not reachable through PUBLIC_URL.' }
  return {
    name,
    state: 'bad',
    text: 'It is open to everyone through PUBLIC_URL: apps, volumes and faults can be read.',
    fix: 'Set TRUSTED_PROXIES or METRICS_PORT, or `location = /metrics { return 404; }` in the proxy.',
  }
}

function checkHsts(response: Response): Check {
  const name = 'HSTS'
  if (response.headers.has('strict-transport-security'))
    return { name, state: 'good', text: 'Browsers use https only.' }
  const text = 'Browsers may still use http.'
  return { name, state: 'warn', text, fix: 'Set HSTS=1 (the default in production), or the header in the proxy.' }
}

const dayMs = 86_400_000

async function checkCertificate(publicUrl: string, now: Date): Promise<Check> {
  const name = 'Certificate'
  const endsAt = await certificateEnd(publicUrl).catch(() => undefined)
  if (!endsAt) return { name, state: 'unknown', text: 'Its expiry date could not be read.' }
  const days = Math.floor((endsAt.getTime() - now.getTime()) / dayMs)
  const text = `It expires in ${days === 1 ? '1 day' : `${days} days`}, on ${endsAt.toISOString().slice(0, 10)}.`
  if (days >= 14) return { name, state: 'good', text }
  return {
    name,
    state: days < 3 ? 'bad' : 'warn',
    text,
    fix: 'Renew it, and find out why it was not renewed automatically.',
  }
}

/** Only reads the date: whether the certificate is trusted was checked before. */
async function certificateEnd(publicUrl: string): Promise<Date> {
  const { hostname: host, port } = new URL(publicUrl)
  return await new Promise((resolve, reject) => {
    const socket = connectTls({ host, port: Number(port) || 443, servername: host, rejectUnauthorized: false }, () => {
      resolve(new Date(socket.getPeerCertificate().valid_to))
      socket.destroy()
    })
    socket.setTimeout(answerWithinMs, () => socket.destroy(new Error('no answer')))
    socket.on('error', reject)
  })
}

async function ask(url: string, headers: Record<string, string>): Promise<Response> {
  return await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(answerWithinMs) })
}

async function readJson(response: Response): Promise<Record<string, unknown> | undefined> {
  return (await response.json().catch(() => undefined)) as Record<string, unknown> | undefined
}
