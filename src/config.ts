/** Environment → frozen Config. It reports all mistakes at once. No other file reads the environment. */
import { z } from 'zod'
import { isKnownCurrency, parseCurrency, parseDecimal, type Currency } from './ledger/money.ts'
import { loopbackNetworks, parseNetworks, type Network } from './platform/address.ts'
import { isPlainHttp, parseTargets, targetsInWords, type CheckpointTarget } from './platform/checkpoint-targets.ts'
import { isServer, serversOf, withPassword } from './platform/database-address.ts'
import { parseRoleRules } from './platform/oidc-roles.ts'
import { oidcMistakes, toOidcConfig, type OidcConfig } from './platform/oidc-settings.ts'
import { distanceOf } from './platform/suggest.ts'

export type Config = {
  readonly isProduction: boolean
  readonly host: string
  readonly port: number
  /** The address for browsers and client apps, without a trailing slash. */
  readonly publicUrl: string
  readonly dataDir: string
  /** One URL per server in DATABASE_URL; empty for the embedded database. */
  readonly databaseUrls: readonly string[]
  /** Connections per process, including the writer's. */
  readonly databaseConnections: number
  /** How many debits and credits an app may have under way in a process, unless an operator set another number for it. */
  readonly appOperations: number
  readonly currency: Currency
  readonly workers: number
  readonly writerLanes: number
  /** How long a process still accepts requests after SIGTERM, while /readyz answers 503. */
  readonly announceMs: number
  readonly hasDemo: boolean
  readonly logLevel: LogLevel
  /** How many proxies in front append an address to X-Forwarded-For. */
  readonly trustedProxies: number
  /** Base64, 32 bytes each; the first encrypts, all decrypt. Empty: the key is in the data folder. */
  readonly secretsKeys: readonly string[]
  /** Sends Strict-Transport-Security, for a year. */
  readonly hasHsts: boolean
  /** A client with this token may read the metrics; without a token only this machine may. */
  readonly metricsToken: string | undefined
  /** If set, the metrics are on this port only. */
  readonly metricsPort: number | undefined
  readonly mail: { readonly smtpUrl: string | undefined; readonly from: string }
  readonly about: About
  readonly cards: CardConfig
  readonly topup: { readonly minMinor: bigint; readonly maxMinor: bigint }
  /** A correction of more than this needs a second operator. */
  readonly correctionApprovalAboveMinor: bigint
  /** A change of operators needs a second admin, where there is one. */
  readonly operatorChangesNeedTwo: boolean
  /** Undefined: operators sign in with a password alone. */
  readonly oidc: OidcConfig | undefined
  /** How long the processor's account lines are kept and compared with payments. */
  readonly processorLinesDays: number
  /** How long events can be read. */
  readonly eventsDays: number
  /** Networks of receivers that are not public. */
  readonly webhookAllowedNets: readonly Network[]
  /** Where signed states of the log are published; empty if they stay in the database. */
  readonly checkpointTargets: readonly CheckpointTarget[]
}

/** The provider of the wallet as users see it; the shop that embeds the widget is another party. */
export type About = {
  readonly name: string
  /** Contact for help; both are optional. */
  readonly supportUrl: string | undefined
  readonly supportEmail: string | undefined
  readonly termsUrl: string | undefined
  readonly privacyUrl: string | undefined
  /** A picture that this service fetches and serves, like an app's logo. */
  readonly logoUrl: string | undefined
}

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export type CardConfig =
  | { readonly processor: 'none' | 'sandbox' }
  | {
      readonly processor: 'stripe'
      readonly secretKey: string
      readonly publishableKey: string
      readonly webhookSecret: string
      /** Only for tests: replaces Stripe's address. */
      readonly apiUrl: string | undefined
    }

export type Environment = Readonly<Record<string, string | undefined>>

export class ConfigError extends Error {
  readonly mistakes: readonly string[]
  constructor(mistakes: readonly string[]) {
    super(`The configuration has ${mistakes.length} mistake(s):\n${mistakes.map((m) => `  - ${m}`).join('\n')}`)
    this.mistakes = mistakes
  }
}

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `write a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `write a whole number from ${min} to ${max}`)

const url = (protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `write an address that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  })

/** These characters would break a mail header, an authenticator's list or a page title. */
const plainName = z
  .string()
  .trim()
  .regex(/^[^\p{C}<>"\\]{1,40}$/u, 'write a name of at most 40 characters, without < > " and \\')

const networks = z.string().refine((text) => parseNetworks(text) !== undefined, 'write networks such as 10.20.0.0/16')
const decimal = z.string().regex(/^\d+(\.\d+)?$/, 'write a plain amount such as 10 or 2.50')

/** 32 bytes in base64. */
export function isKeyText(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text)
}

const keyInWords = 'what `openssl rand -base64 32` prints; several with commas, of which the first encrypts'

const settings = z.object({
  NODE_ENV: z.enum(['development', 'production', 'test'], 'write development, production or test').optional(),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: whole(0, 65_535).default(3000),
  PUBLIC_URL: url(['http:', 'https:']).optional(),
  DATA_DIR: z.string().min(1).default('./data'),
  DATABASE_URL: z
    .string()
    .refine((text) => serversOf(text).every(isServer), {
      message: 'write postgres://user:password@host:port/database; several hosts are separated by commas',
    })
    .optional(),
  DATABASE_PASSWORD: z.string().min(1).optional(),
  DATABASE_CONNECTIONS: whole(7, 1_000).optional(),
  CURRENCY: z
    .string()
    .refine((code) => parseCurrency(code) !== undefined, 'write a code of ISO 4217 such as USD, EUR or JPY')
    .default('USD'),
  APP_OPERATIONS: whole(1, 1_000_000).default(4_000),
  WORKERS: whole(1, 64).default(1),
  WRITER_LANES: whole(1, 16).default(1),
  DRAIN_ANNOUNCE_MS: whole(0, 60_000).default(250),
  DEMO: z.enum(['0', '1'], 'write 1 for demo data or 0 for none').optional(),
  LOG_LEVEL: z.enum(logLevels, `write one of ${logLevels.join(', ')}`).default('info'),
  TRUSTED_PROXIES: whole(0, 10).default(0),
  SECRETS_KEY: z
    .string()
    .transform((text) => text.split(',').map((key) => key.trim()))
    .refine((keys) => keys.every(isKeyText), `write ${keyInWords}`)
    .refine((keys) => new Set(keys).size === keys.length, 'the same key is listed twice')
    .optional(),
  HSTS: z.enum(['0', '1'], 'write 1 to send the header in production or 0 to leave it to the proxy').default('1'),
  METRICS_TOKEN: z.string().min(16, 'write at least 16 characters').optional(),
  METRICS_PORT: whole(1, 65_535).optional(),
  SMTP_URL: url(['smtp:', 'smtps:']).optional(),
  MAIL_FROM: z.string().min(3).optional(),
  SERVICE_NAME: plainName.default('Billfold'),
  SERVICE_LOGO: url(['https:']).optional(),
  SUPPORT_URL: url(['https:']).optional(),
  SUPPORT_EMAIL: z.email('write an email address').optional(),
  TERMS_URL: url(['https:']).optional(),
  PRIVACY_URL: url(['https:']).optional(),
  CARD_PROCESSOR: z.enum(['sandbox', 'stripe', 'none'], 'write stripe, sandbox or none').optional(),
  STRIPE_SECRET_KEY: z.string().optional(),
  STRIPE_PUBLISHABLE_KEY: z.string().optional(),
  STRIPE_WEBHOOK_SECRET: z.string().optional(),
  STRIPE_API_URL: url(['http:', 'https:']).optional(),
  TOPUP_MIN: decimal.default('1'),
  TOPUP_MAX: decimal.default('10000'),
  CORRECTION_APPROVAL_ABOVE: decimal.default('100'),
  OPERATOR_CHANGES_NEED_TWO: z
    .enum(['0', '1'], 'write 1 if a second admin approves changes of operators or 0 if one admin is enough')
    .optional(),
  PROCESSOR_LINES_DAYS: whole(31, 36_500).default(730),
  EVENTS_DAYS: whole(1, 365).default(30),
  WEBHOOK_ALLOWED_NETS: networks.optional(),
  CHECKPOINTS: z
    .string()
    .refine((text) => parseTargets(text) !== undefined, targetsInWords)
    .optional(),
  OIDC_ISSUER: url(['https:', 'http:']).optional(),
  OIDC_CLIENT_ID: z.string().min(1).max(255).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  OIDC_NAME: plainName.default('your company account'),
  OIDC_SCOPES: z
    .string()
    .regex(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/, 'write scopes with spaces between, such as openid email profile groups')
    .refine((text) => text.split(' ').includes('openid'), 'openid must be one of the scopes')
    .default('openid email profile'),
  OIDC_ROLES: z
    .string()
    .refine((text) => parseRoleRules(text) !== undefined, {
      message: 'write role=claim:value, several with commas; the roles are viewer, support, finance and admin',
    })
    .optional(),
  OIDC_ONLY: z.enum(['0', '1'], 'write 1 if passwords are for emergencies alone or 0 if both ways are open').optional(),
})

type Settings = z.infer<typeof settings>

export const variableNames: readonly string[] = Object.keys(settings.shape)

export function parseConfig(environment: Environment): Config {
  const mistakes: string[] = []
  // An empty variable counts as unset, which is what `PORT=` in a .env file means.
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
  const parsed = settings.safeParse(given)
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      mistakes.push(`${String(issue.path[0])}=${shownValue(issue.path[0], given)}: ${issue.message}`)
    }
    // Check the valid fields too, so that all mistakes are reported together.
    const good = Object.fromEntries(
      Object.entries(given).filter(([key]) => !mistakes.some((m) => m.startsWith(`${key}=`))),
    )
    mistakes.push(...combinedMistakes(settings.parse(good)))
    throw new ConfigError(mistakes)
  }
  mistakes.push(...combinedMistakes(parsed.data))
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return toConfig(parsed.data)
}

/** Unknown variables that resemble a setting: a TRUSTED_PROXY would be ignored silently. */
export function findMisspelt(environment: Environment): { name: string; meant: string }[] {
  const strangers = Object.keys(environment).filter((name) => name.length <= 40 && !variableNames.includes(name))
  return strangers.flatMap((name) => {
    const isNear = (known: string) => distanceOf(name, known) <= (known.length < 6 ? 0 : known.length < 10 ? 1 : 3)
    const meant = variableNames.find(isNear)
    return meant === undefined ? [] : [{ name, meant }]
  })
}

/** The value as text, unless the variable can contain a secret. */
function shownValue(name: PropertyKey | undefined, given: Record<string, unknown>): string {
  return /KEY|SECRET|URL|PASSWORD|TOKEN|CHECKPOINTS/.test(String(name)) ? '…' : String(given[String(name)])
}

function combinedMistakes(s: Settings): string[] {
  const mistakes: string[] = []
  const isProduction = s.NODE_ENV === 'production'
  if (isProduction) mistakes.push(...unsafeInProduction(s))
  if (s.PUBLIC_URL && new URL(s.PUBLIC_URL).pathname !== '/')
    mistakes.push('PUBLIC_URL: write scheme, host and port only, without a path')
  if (s.METRICS_PORT === s.PORT) mistakes.push(`METRICS_PORT=${s.METRICS_PORT}: write another port than PORT`)
  if (s.DATABASE_URL && unsuitable.test(s.DATABASE_URL))
    mistakes.push(
      'DATABASE_URL: the service uses the server that accepts writes; leave target_session_attrs out, or write read-write',
    )
  if (s.DATABASE_PASSWORD !== undefined) {
    const [server] = s.DATABASE_URL === undefined ? [] : serversOf(s.DATABASE_URL)
    if (server === undefined) mistakes.push('DATABASE_PASSWORD: write DATABASE_URL too, without a password')
    else if (new URL(server).password !== '')
      mistakes.push('DATABASE_PASSWORD: DATABASE_URL has a password too; leave one of them out')
    else if (new URL(server).username === '') mistakes.push('DATABASE_PASSWORD: write the user to DATABASE_URL')
  }
  if (connectionsOf(s) < s.WRITER_LANES + 6)
    mistakes.push(`DATABASE_CONNECTIONS: write at least ${s.WRITER_LANES + 6}: one for each of WRITER_LANES, and six`)
  if (s.CARD_PROCESSOR === 'stripe') {
    for (const [name, prefix] of stripeKeys)
      if (!s[name]?.startsWith(prefix))
        mistakes.push(`${name}: CARD_PROCESSOR=stripe needs it; it begins with ${prefix}`)
    if (modeOf(s.STRIPE_SECRET_KEY) !== modeOf(s.STRIPE_PUBLISHABLE_KEY))
      mistakes.push('STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY: one is a test key, the other is not')
  }
  mistakes.push(...oidcMistakes(s))
  const currency = parseCurrency(s.CURRENCY)!
  const [min, max] = [parseDecimal(s.TOPUP_MIN, currency), parseDecimal(s.TOPUP_MAX, currency)]
  if (min === undefined || max === undefined || min <= 0n || max < min)
    mistakes.push(`TOPUP_MIN and TOPUP_MAX: write amounts of ${s.CURRENCY}, above zero, the smaller one first`)
  if (parseDecimal(s.CORRECTION_APPROVAL_ABOVE, currency) === undefined)
    mistakes.push(`CORRECTION_APPROVAL_ABOVE: write an amount of ${s.CURRENCY}; 0 to require approval always`)
  return mistakes
}

const unsuitable = /[?&]target_session_attrs=(?!(read-write|primary|any)(&|$))/

const stripeKeys = [
  ['STRIPE_SECRET_KEY', 'sk_'],
  ['STRIPE_PUBLISHABLE_KEY', 'pk_'],
  ['STRIPE_WEBHOOK_SECRET', 'whsec_'],
] as const

/** The prefix of Stripe's keys names the mode: sk_test_…, pk_live_…. */
function modeOf(key: string | undefined): 'test' | 'live' | undefined {
  if (!key) return undefined
  return /^[a-z]{2}_test_/.test(key) ? 'test' : 'live'
}

/** Development defaults that would lose money or trust in production. */
function unsafeInProduction(s: Settings): string[] {
  const mistakes: string[] = []
  if (!s.PUBLIC_URL) mistakes.push('PUBLIC_URL: production needs the https address that browsers use')
  else if (new URL(s.PUBLIC_URL).protocol !== 'https:')
    mistakes.push('PUBLIC_URL: production needs https, because the widget shows money and accepts passwords')
  if (s.DEMO === '1') mistakes.push('DEMO=1: demo data has well-known passwords; leave it out in production')
  if (s.CARD_PROCESSOR === undefined)
    mistakes.push('CARD_PROCESSOR: write stripe, or none for a service without card top-ups')
  if (s.CARD_PROCESSOR === 'sandbox')
    mistakes.push('CARD_PROCESSOR=sandbox: it credits play money; write stripe or none in production')
  if (
    s.CARD_PROCESSOR === 'stripe' &&
    [s.STRIPE_SECRET_KEY, s.STRIPE_PUBLISHABLE_KEY].some((k) => modeOf(k) === 'test')
  )
    mistakes.push('STRIPE_SECRET_KEY: test keys credit play money; production needs live ones')
  if (!isKnownCurrency(s.CURRENCY)) mistakes.push(`CURRENCY=${s.CURRENCY}: ISO 4217 has no such currency`)
  if (targetsOf(s).some(isPlainHttp))
    mistakes.push('CHECKPOINTS: production needs https, so that nobody on the way changes a checkpoint')
  if (s.STRIPE_API_URL) mistakes.push("STRIPE_API_URL: it is for tests; production uses Stripe's own address")
  if (!s.SECRETS_KEY)
    mistakes.push(`SECRETS_KEY: production needs a key to encrypt secrets in the database: write ${keyInWords}`)
  if (!s.SMTP_URL)
    mistakes.push('SMTP_URL: production needs it; without it users cannot confirm an email or reset a password')
  return mistakes
}

function toConfig(s: Settings): Config {
  const isProduction = s.NODE_ENV === 'production'
  const currency = parseCurrency(s.CURRENCY)!
  return Object.freeze({
    isProduction,
    host: s.HOST,
    port: s.PORT,
    publicUrl: new URL(s.PUBLIC_URL ?? `http://${urlHost(s.HOST)}:${s.PORT}`).origin,
    dataDir: s.DATA_DIR,
    databaseUrls:
      s.DATABASE_URL === undefined
        ? []
        : serversOf(s.DATABASE_URL).map((server) => withPassword(server, s.DATABASE_PASSWORD)),
    databaseConnections: connectionsOf(s),
    currency,
    workers: s.WORKERS,
    writerLanes: s.WRITER_LANES,
    appOperations: s.APP_OPERATIONS,
    announceMs: s.DRAIN_ANNOUNCE_MS,
    hasDemo: !isProduction && s.DEMO !== '0',
    logLevel: s.LOG_LEVEL,
    trustedProxies: s.TRUSTED_PROXIES,
    secretsKeys: s.SECRETS_KEY ?? [],
    hasHsts: isProduction && s.HSTS === '1',
    metricsToken: s.METRICS_TOKEN,
    metricsPort: s.METRICS_PORT,
    mail: { smtpUrl: s.SMTP_URL, from: s.MAIL_FROM ?? `"${s.SERVICE_NAME}" <wallet@localhost>` },
    about: {
      name: s.SERVICE_NAME,
      supportUrl: s.SUPPORT_URL,
      supportEmail: s.SUPPORT_EMAIL,
      termsUrl: s.TERMS_URL,
      privacyUrl: s.PRIVACY_URL,
      logoUrl: s.SERVICE_LOGO,
    },
    cards: cardConfig(s),
    topup: { minMinor: parseDecimal(s.TOPUP_MIN, currency)!, maxMinor: parseDecimal(s.TOPUP_MAX, currency)! },
    correctionApprovalAboveMinor: parseDecimal(s.CORRECTION_APPROVAL_ABOVE, currency)!,
    operatorChangesNeedTwo:
      s.OPERATOR_CHANGES_NEED_TWO === undefined ? isProduction : s.OPERATOR_CHANGES_NEED_TWO === '1',
    processorLinesDays: s.PROCESSOR_LINES_DAYS,
    eventsDays: s.EVENTS_DAYS,
    webhookAllowedNets: parseNetworks(s.WEBHOOK_ALLOWED_NETS ?? (isProduction ? '' : loopbackNetworks))!,
    checkpointTargets: targetsOf(s),
    oidc: toOidcConfig(s),
  })
}

const targetsOf = (s: Settings) => (s.CHECKPOINTS === undefined ? [] : parseTargets(s.CHECKPOINTS)!)

/** One connection per fast lane of the writer, three for its other lanes, and ten for everything else. */
function connectionsOf(s: Settings): number {
  return s.DATABASE_CONNECTIONS ?? s.WRITER_LANES + 13
}

/** A browser cannot open the wildcard address. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

function cardConfig(s: Settings): CardConfig {
  if (s.CARD_PROCESSOR !== 'stripe') return { processor: s.CARD_PROCESSOR ?? 'sandbox' }
  return {
    processor: 'stripe',
    secretKey: s.STRIPE_SECRET_KEY!,
    publishableKey: s.STRIPE_PUBLISHABLE_KEY!,
    webhookSecret: s.STRIPE_WEBHOOK_SECRET!,
    apiUrl: s.STRIPE_API_URL,
  }
}
