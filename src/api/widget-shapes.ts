/** Schemas of the fields that the widget's routes share, and the ids in their examples. */
import { z } from 'zod'
import { isEmail, isName, maxNameLength, normaliseEmail } from '../actions/people/create-user.ts'
import { maxPasswordLength } from '../actions/people/password-rules.ts'
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
