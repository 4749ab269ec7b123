/** Schemas of the fields that the widget's routes share, and the ids in their examples. */
import { z } from 'zod'
import { isEmail, isName, maxNameLength, normaliseEmail } from '../actions/people/create-user.ts'
import { maxPasswordLength } from '../actions/people/password-rules.ts'
import { maxBalanceMinor, parseDecimal, type Currency } from '../ledger/money.ts'
import { isLabel, isLongerThan } from '../ledger/reference.ts'

/** Only documented here: a malformed token answers 401 like an expired one, not 400. */
export const sessionQuery = z.object({
  session: z.unknown().meta({ type: 'string', description: 'The widget session token, ws_…' }),
})

export const clientId = z
  .string('must be text')
  .refine((text) => isLabel(text, 128), 'must be text of 1 to 128 characters, without control characters')
  .describe('Public identifier of the client app')

export const email = z
  .string('must be an email address')
  .max(320, 'must be an email address')
  .refine((text) => isEmail(normaliseEmail(text)), 'must be an email address')

/** `max` counts UTF-16 units, of which a code point may take two. The rules for new passwords answer with their own code, WEAK_PASSWORD. */
export const password = z
  .string('must be text')
  .min(1, 'must be text')
  .max(2 * maxPasswordLength, `must have at most ${maxPasswordLength} characters`)
  .refine((text) => text.isWellFormed(), 'must be well-formed text')

export const mailedCode = z
  .string('must be the six digits of the mail')
  .regex(/^\d{6}$/, 'must be the six digits of the mail')

export const codeHandle = z
  .string('must be the handle of the request that mailed the code')
  .regex(/^ch_[A-Za-z0-9_-]{32}$/, 'must be the handle of the request that mailed the code')
  .describe('The code works only with it')

const name = z
  .string(`must be text of 1 to ${maxNameLength} characters`)
  .refine((text) => !isLongerThan(text, maxNameLength), `must have at most ${maxNameLength} characters`)
  .refine((text) => isName(text.trim()), `must be text of 1 to ${maxNameLength} characters, without control characters`)
  .meta({ maxLength: maxNameLength })
  .transform((text) => text.trim())

export const firstName = name.describe('Shown in the widget')
export const lastName = name.describe('Shown in the widget')

export const message = z.object({ message: z.string() }).meta({ id: 'Message' })
export const connected = z
  .object({
    serviceUserId: z.string().describe('Identifies this user to this app, su_…'),
    linkCode: z.string().describe('Works once, for two minutes; the app’s backend verifies it'),
  })
  .meta({ id: 'Connected' })

export const callErrors = ['CROSS_SITE_REFUSED', 'INVALID_REQUEST', 'UNAVAILABLE', 'INTERNAL'] as const
export const bodyErrors = ['PAYLOAD_TOO_LARGE', 'REQUEST_TIMEOUT', 'UNSUPPORTED_MEDIA_TYPE'] as const
export const sessionErrors = ['SESSION_EXPIRED', 'INVALID_SESSION', ...callErrors] as const

export const exampleIds = {
  clientId: 'app_0123456789abcdef0123',
  serviceUserId: 'su_0123456789abcdef0123456789abcdef',
  sessionToken: 'ws_3f1c2f0e-6d0b-4c7e-9a53-0d5f4b8f2a11',
  linkKey: '0123456789abcdef0123456789abcdef',
  linkCode: 'lc_Zm9yIGV4YW1wbGUgcHVycG9zZXMgb25s',
  codeHandle: 'ch_b25seSB0aGlzIGJyb3dzZXIgaGFzIGl0',
  email: 'ada@example.com',
}

/* The filters of the transaction history, which several routes take. */

const ownTypes = [
  'TOPUP',
  'TOPUP_REFUND',
  'TOPUP_REFUND_RETURNED',
  'TOPUP_DISPUTE',
  'TOPUP_DISPUTE_RETURNED',
  'BONUS',
  'CORRECTION',
]

const maxTypes = 200

/** Parsing a query turns malformed Unicode into U+FFFD, so that character is refused too. */
const isReadable = (text: string) => text.isWellFormed() && !/[\0\uFFFD]/.test(text)

/** An instant as `Date.toISOString` writes it; the years are those of PostgreSQL and of a ledger. */
const instant = z
  .string('must be a time such as 2026-03-01T00:00:00.000Z')
  .refine(
    (text) => /^(19[7-9]\d|2\d{3})-/.test(text) && isInstant(text),
    'must be a time such as 2026-03-01T00:00:00.000Z',
  )
  .meta({ format: 'date-time' })

function isInstant(text: string): boolean {
  const at = new Date(text)
  return !Number.isNaN(at.getTime()) && at.toISOString() === text
}

/** Plain decimal text; 15 digits, which is the largest balance. */
function decimalAmount(currency: Currency) {
  const message = `must be plain decimal text such as 19.99, with at most ${currency.decimals} decimals and 15 digits`
  const isAmount = (text: string) => (parseDecimal(text, currency) ?? maxBalanceMinor + 1n) <= maxBalanceMinor
  return z
    .string(message)
    .refine(isAmount, message)
    .meta({ pattern: `^(0|[1-9]\\d{0,${14 - currency.decimals}})${fractionPattern(currency)}$` })
}

function fractionPattern({ decimals }: Currency): string {
  return decimals === 0 ? '' : `(\\.\\d{1,${decimals}})?`
}

export const filterFields = (currency: Currency) => ({
  direction: z.enum(['in', 'out'], 'must be in or out').optional(),
  app: clientId
    .refine(isReadable, 'must be well-formed text')
    .optional()
    .describe('Only transactions of this app, by clientId; `service` for those of the service itself'),
  search: z
    .string('must be text')
    .refine((text) => !isLongerThan(text, 100), 'must have at most 100 characters')
    .refine(isReadable, 'must be well-formed text without NUL')
    .meta({ maxLength: 100 })
    .optional()
    .describe('Text in the description, the reference or the app’s name, or a receipt code'),
  types: z
    .string('must be text')
    .refine((text) => text.split(',').every((type) => ownTypes.includes(type)), `must be among ${ownTypes.join()}`)
    .refine((text) => text.length <= maxTypes, `must have at most ${maxTypes} characters`)
    .meta({ maxLength: maxTypes, pattern: `^(${ownTypes.join('|')})(,(${ownTypes.join('|')}))*$` })
    .optional()
    .describe('Also returns the service’s own transactions of these types, in addition to what `search` finds'),
  amount: decimalAmount(currency)
    .optional()
    .describe('Also returns the transactions of this amount, in addition to what `search` finds'),
  min: decimalAmount(currency).optional().describe('Only transactions of at least this amount'),
  max: decimalAmount(currency).optional().describe('Only transactions of at most this amount'),
  from: instant.optional().describe('Only transactions at or after this time'),
  until: instant.optional().describe('Only transactions before this time'),
})

type Times = { readonly from?: string | undefined; readonly until?: string | undefined }

export const hasOrderedTimes = ({ from, until }: Times) => from === undefined || until === undefined || from < until
export const orderedTimes = { path: ['until'], message: 'must be after from' }

type Amounts = { readonly min?: string | undefined; readonly max?: string | undefined }

export const hasOrderedAmounts = (currency: Currency) => {
  const minor = (text: string) => parseDecimal(text, currency) ?? 0n
  return ({ min, max }: Amounts) => min === undefined || max === undefined || minor(min) <= minor(max)
}
export const orderedAmounts = { path: ['max'], message: 'must not be below min' }
