/** Schemas of the fields that several routes share. They validate requests and document them. */
import { z } from 'zod'
import { holdStatuses } from '../ledger/hold.ts'
import { majorNumber, maxOperationMinor, parseAmount, parseDecimal, type Currency } from '../ledger/money.ts'
import {
  isDescription,
  isLabel,
  isLongerThan,
  maxDescriptionLength,
  maxReferenceIdLength,
  maxReferenceTypeLength,
} from '../ledger/reference.ts'

const label = (max: number) =>
  z
    .string(`must be text of 1 to ${max} characters`)
    .refine((text) => isLabel(text, max), `must be text of 1 to ${max} characters, without control characters`)
    .meta({ minLength: 1, maxLength: max, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' })

/** Only documented here: `authenticate` checks them before any other field is validated. */
export const credentialFields = {
  clientId: z.unknown().meta({ type: 'string', description: 'Public identifier of the client app' }),
  clientSecret: z.unknown().meta({ type: 'string', description: 'Secret of the client app, for backends only' }),
}

const maxServiceUserIdLength = 128

export const serviceUserId = label(maxServiceUserIdLength).describe('Identifies the app’s user in the service, su_…')
export const holdId = label(128).describe('Identifies a hold, hold_…')
export const endpointId = label(128).describe('Identifies an endpoint of the app, we_…')
export const referenceType = label(maxReferenceTypeLength).describe('A free label, such as ORDER_PAYMENT')
export const referenceId = label(maxReferenceIdLength).describe(
  'Together with referenceType the idempotency key: a repeat returns the first outcome and moves no money',
)
export const description = z
  .string('must be text')
  .refine((text) => !isLongerThan(text, maxDescriptionLength), `must have at most ${maxDescriptionLength} characters`)
  .refine(isDescription, 'must be well-formed text without NUL')
  .meta({ maxLength: maxDescriptionLength })
  .nullish()
  .describe('Shown to the user')

export function amount(currency: Currency) {
  const error = ({ input }: { input?: unknown }) => amountProblem(input, currency)
  return z
    .number({ error })
    .refine((value) => parseAmount(value, currency) !== undefined, { error })
    .meta({
      description: `In ${currency.code}, in major units, with at most ${currency.decimals} decimals`,
      exclusiveMinimum: 0,
      maximum: maxAmount(currency),
    })
}

const maxAmount = (currency: Currency) => majorNumber(maxOperationMinor(currency), currency)

/** The one cause for which `parseAmount` refuses the value. */
function amountProblem(value: unknown, currency: Currency): string {
  if (value === undefined) return 'is missing'
  if (typeof value !== 'number') return 'must be a JSON number such as 25'
  if (!(value > 0)) return 'must be above 0'
  return value > maxAmount(currency) ? `must be at most ${maxAmount(currency)}` : tooManyDecimals(currency)
}

function tooManyDecimals({ code, decimals }: Currency): string {
  return decimals === 0
    ? `must be a whole number, because ${code} has no decimals`
    : `has more than ${decimals} decimals`
}

/** The fields of a debit or credit besides the credentials. */
export const postingFields = (currency: Currency) => ({
  serviceUserId,
  amount: amount(currency),
  referenceType,
  referenceId,
  description,
})

export type PostingInput = z.output<z.ZodObject<ReturnType<typeof postingFields>>>

/**
 * What the schema of these fields makes of valid values; undefined if they may be invalid, which only the schema explains. A debit calls this
 * instead of the schema, whose 50 objects are a sixth of the memory that a debit takes.
 */
export function readPostingFields(
  { serviceUserId, amount, referenceType, referenceId, description }: Readonly<Record<string, unknown>>,
  currency: Currency,
): PostingInput | undefined {
  const isValid =
    isLabelWithin(serviceUserId, maxServiceUserIdLength) &&
    typeof amount === 'number' &&
    parseAmount(amount, currency) !== undefined &&
    isLabelWithin(referenceType, maxReferenceTypeLength) &&
    isLabelWithin(referenceId, maxReferenceIdLength) &&
    (description === undefined ||
      description === null ||
      (typeof description === 'string' && isDescription(description)))
  return isValid ? { serviceUserId, amount, referenceType, referenceId, description } : undefined
}

function isLabelWithin(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && isLabel(value, maxLength)
}

export function requiredAmount(currency: Currency) {
  const error = ({ input }: { input?: unknown }) => requiredAmountProblem(input, currency)
  return z
    .string({ error })
    .refine((text) => parseDecimal(text, currency) !== undefined, { error })
    .meta({
      description: `Plain decimal text with at most ${currency.decimals} decimals; 0 is allowed`,
      pattern: `^(0|[1-9]\\d{0,15})(\\.${currency.decimals > 0 ? `\\d{1,${currency.decimals}}0*` : '0+'})?$`,
    })
}

/** The one cause for which `parseDecimal` refuses the text. */
function requiredAmountProblem(value: unknown, currency: Currency): string {
  if (typeof value !== 'string') return 'is missing'
  if (/^-\d/.test(value)) return 'must be 0 or above'
  if (!/^(0|[1-9]\d*)(\.\d+)?$/.test(value)) return 'must be plain decimal text such as 25'
  return /^\d{17}/.test(value) ? 'has more than 16 digits before the point' : tooManyDecimals(currency)
}

/** A whole number in a query, where every value is text. */
export const whole = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`
  return z
    .string(message)
    .refine((text) => /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max, message)
    .meta({ type: 'integer', minimum: min, maximum: max })
}

export const money = z.number().describe('In major units')
export const available = money.describe('The balance without what is held: what a debit or a new hold can take')
export const held = money.describe('What open holds reserve, of all apps')

export function walletFigures(balanceMinor: bigint, heldMinor: bigint, currency: Currency) {
  const major = (minor: bigint) => majorNumber(minor, currency)
  return { balance: major(balanceMinor), available: major(balanceMinor - heldMinor), held: major(heldMinor) }
}

export const currencyCode = z.string().meta({ pattern: '^[A-Z]{3}$', description: 'ISO 4217' })
export const timestamp = z.string().meta({ format: 'date-time', description: 'ISO 8601, in UTC' })
/** Beside a list that ends with entries in the database. */
export const hasArchived = z
  .literal(true)
  .optional()
  .describe('Present at the end of the list if older transactions are in the archive of the service')

export const transactionId = z.string().meta({ pattern: '^txn_[0-9a-f]{32}$' })
export const mismatch = z.enum(['amount', 'user', 'direction'])

export const transaction = z
  .object({
    id: transactionId,
    type: z.enum(['DEBIT', 'CREDIT']),
    amount: z.number().positive(),
    balanceAfter: money,
    currency: currencyCode,
    referenceType: z.string(),
    referenceId: z.string(),
    description: z.string().nullable(),
    sequence: z.int().positive(),
    createdAt: timestamp,
  })
  .meta({ id: 'Transaction' })

export const hold = z
  .object({
    id: z.string().meta({ pattern: '^hold_[0-9a-f]{32}$' }),
    status: z
      .enum(holdStatuses)
      .describe('EXPIRED from expiresAt on, by the clock of the service; OPEN can be captured, voided and extended'),
    amount: money,
    captured: money.describe('What captures took, including what they took beyond the amount'),
    remaining: money.describe('What is still held'),
    currency: currencyCode,
    referenceType: z.string(),
    referenceId: z.string(),
    description: z.string().nullable(),
    createdAt: timestamp,
    expiresAt: timestamp,
    closedAt: timestamp.nullable(),
  })
  .meta({ id: 'Hold' })
