/** The steps of signing in: their fields, their calls and their problems. Pure. */
import type { WordKey } from '../../languages/words.ts'
import type { Failure } from './call.ts'

export const steps = {
  login: { path: 'login', fields: ['email', 'password'], title: 'signInTitle', text: 'signInIntro', button: 'signIn' },
  'sign-up': {
    path: 'sign-up',
    fields: ['firstName', 'lastName', 'email', 'password'],
    title: 'signUpTitle',
    text: 'signUpIntro',
    button: 'signUp',
  },
  confirm: { path: 'confirm', fields: ['code'], title: 'confirmTitle', text: 'confirmText', button: 'confirm' },
  forgot: { path: 'forgot', fields: ['email'], title: 'forgotTitle', text: 'forgotText', button: 'sendCode' },
  reset: {
    path: 'reset',
    fields: ['code', 'password'],
    title: 'resetTitle',
    text: 'resetText',
    button: 'saveAndSignIn',
  },
} as const satisfies Record<string, Step>

type Step = {
  readonly path: string
  readonly fields: readonly FieldName[]
  readonly title: WordKey
  readonly text: WordKey
  readonly button: WordKey
}

export type StepName = keyof typeof steps
export type FieldName = 'email' | 'password' | 'firstName' | 'lastName' | 'code'
export type Values = Readonly<Partial<Record<FieldName, string>>>
/** Problems by field; `form` is about the whole form. */
export type Problems = Readonly<Partial<Record<FieldName | 'form', WordKey>>>

/** Checks the fields without a request. The server checks them again. */
export function findProblems(step: StepName, values: Values): Problems {
  const problems: Partial<Record<FieldName, WordKey>> = {}
  for (const field of steps[step].fields) {
    const value = values[field] ?? ''
    if (value.trim() === '') problems[field] = 'needed'
    else if (field === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value.trim())) problems[field] = 'emailWrong'
    else if (field === 'password' && step !== 'login' && !isGoodLength(value)) problems[field] = 'passwordLength'
  }
  return problems
}

/** Counts code points, as the server does. */
function isGoodLength(password: string): boolean {
  const { length } = Array.from(password)
  return length >= 8 && length <= 256
}

/** Trims names and addresses and removes spaces and hyphens from codes. Passwords stay as typed. */
export function cleanValues(values: Values): Values {
  const clean: Partial<Record<FieldName, string>> = {}
  for (const [field, value] of Object.entries(values) as [FieldName, string][]) {
    clean[field] = field === 'password' ? value : field === 'code' ? value.replace(/[\s-]/g, '') : value.trim()
  }
  return clean
}

const byCode: Readonly<Record<string, Problems>> = {
  INVALID_CREDENTIALS: { form: 'credentialsWrong' },
  INVALID_CODE: { code: 'codeWrong' },
  WEAK_PASSWORD: { password: 'passwordWeak' },
  RATE_LIMITED: { form: 'tooMany' },
  NO_NETWORK: { form: 'notReached' },
}

export function problemsOf({ code, fields }: Failure): Problems {
  const known = byCode[code]
  if (known) return known
  if ('email' in fields) return { email: 'emailWrong' }
  // A process of an older release answered without a handle: this code cannot work any more.
  if ('code' in fields || 'handle' in fields) return { code: 'codeWrong' }
  if ('password' in fields) return { password: 'passwordLength' }
  return { form: 'wentWrong' }
}
