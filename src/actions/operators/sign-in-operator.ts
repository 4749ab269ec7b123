/** Sign-in to /admin: password, then code. Every attempt is counted before it is checked, across all processes. */
import type { Config } from '../../config.ts'
import { upsertAddress } from '../../store/people/addresses.ts'
import { getDatabaseTime, transact, type Transaction } from '../../store/connection/database.ts'
import { deleteOperatorSessions, type Stage } from '../../store/operator-access/operator-sessions.ts'
import {
  findOperatorByEmail,
  findPendingTotp,
  isOperatorAddress,
  listOperators,
  updateOperatorSignedIn,
  updateTotpConfirmed,
  type Operator,
} from '../../store/operators.ts'
import { normaliseEmail } from '../people/create-user.ts'
import {
  addressHashes,
  clearLimit,
  forgiveRightGuess,
  operatorCodes,
  operatorPasswords,
  takeGuess,
  takeLimit,
  type Limited,
} from '../limits.ts'
import { actorOf, startSession, type Device, type SignedInOperator } from './manage-sessions.ts'
import { mayUsePassword } from './manage-operators.ts'
import { isPassword } from '../people/passwords.ts'
import { recordAudit } from '../audit.ts'
import { addOperatorMail, sendOperatorMailSoon } from '../mails/operator-letters.ts'
import { renewRecoveryCodes, stepOfCode, takeCode, totpContext } from './second-factor.ts'
import type { Service } from '../service.ts'

export type SignInResult =
  | { readonly kind: 'session'; readonly token: string; readonly stage: Stage }
  | { readonly kind: 'wrong' }
  /** What was given is right, but OIDC_ONLY keeps passwords for admins with a second factor. */
  | { readonly kind: 'oidc-only' }
  | Limited

export async function signInWithPassword(
  service: Service,
  given: { email: string; password: string },
  device: Device,
): Promise<SignInResult> {
  return countResult(service, await tryPassword(service, given, device))
}

function countResult(service: Service, result: SignInResult): SignInResult {
  service.metrics.signIn(
    'operator',
    result.kind === 'session' ? 'right' : result.kind === 'limited' ? 'limited' : 'wrong',
  )
  return result
}

async function tryPassword(
  service: Service,
  { email, password }: { email: string; password: string },
  device: Device,
): Promise<SignInResult> {
  const name = normaliseEmail(email)
  const guess = { whose: name, address: device.address, isKnownAddress: await isKnownAddress(service, name, device) }
  const limited = await takeGuess(service, operatorPasswords, guess)
  const operator = await findOperatorByEmail(service.db.pool, name)
  if (limited) {
    if (limited.isFirst) await recordFailure(service, operator, 'operator.sign-in-blocked', device)
    return limited
  }
  const isRight = await isPassword(service, password, operator?.isActive ? operator.passwordHash : null)
  if (!operator || !isRight) {
    await recordFailure(service, operator, 'operator.sign-in-failed', device)
    return { kind: 'wrong' }
  }
  await forgiveRightGuess(service, operatorPasswords, guess)
  const isEmergency = service.config.oidc?.isOnly ?? false
  if (isEmergency && (operator.role !== 'admin' || operator.totpSealed === null)) {
    await recordFailure(service, operator, 'operator.password-not-accepted', device)
    return { kind: 'oidc-only' }
  }
  const stage = operator.totpSealed === null ? 'enrol' : 'code'
  // A correct password without a code after it is the sign of a stolen password.
  const token = await transact(service.db, async (tx) => {
    await recordAudit(tx, actorOf(operator, device.address), 'operator.password-accepted', `operator:${operator.id}`)
    return await startSession(service, tx, operator.id, stage, device)
  })
  return { kind: 'session', token, stage }
}

/** The second step. It replaces the unfinished session with a full one, which has a new token. */
export async function signInWithCode(
  service: Service,
  signedIn: SignedInOperator,
  code: string,
  device: Device,
): Promise<SignInResult> {
  return countResult(service, await tryCode(service, signedIn, code, device))
}

async function tryCode(
  service: Service,
  { operator, session }: SignedInOperator,
  code: string,
  device: Device,
): Promise<SignInResult> {
  if (!mayUsePassword(service.config, operator)) {
    await recordFailure(service, operator, 'operator.password-not-accepted', device)
    return { kind: 'oidc-only' }
  }
  const from = (await isKnownAddress(service, operator.email, device)) ? 'known' : 'elsewhere'
  const limited = await takeLimit(service, operatorCodes, operator.id, from)
  if (limited) {
    if (limited.isFirst) await recordFailure(service, operator, 'operator.sign-in-blocked', device)
    return limited
  }
  const result = await transact(service.db, async (tx): Promise<SignInResult> => {
    const actor = actorOf(operator, device.address)
    const taken = await takeCode(service, tx, operator, code)
    if (!taken) {
      await recordAudit(tx, actor, 'operator.code-failed', `operator:${operator.id}`)
      return { kind: 'wrong' }
    }
    await deleteOperatorSessions(tx, operator.id, { only: session.id })
    const token = await startFullSession(service, tx, operator, device, {
      by: taken === 'app' ? 'code' : 'recovery code',
    })
    return { kind: 'session', token, stage: 'full' }
  })
  if (result.kind === 'session') await clearLimit(service, operatorCodes, operator.id, from)
  return result
}

export type Enrolled = { readonly token: string; readonly recoveryCodes: readonly string[] }

/** Accepts the first code of a new authenticator and ends all other sessions. */
export async function confirmSecondFactor(
  service: Service,
  { operator }: SignedInOperator,
  code: string,
  device: Device,
): Promise<Enrolled | 'wrong' | 'ended' | 'oidc-only'> {
  if (!mayUsePassword(service.config, operator)) return 'oidc-only'
  const sealed = await findPendingTotp(service.db.pool, operator.id)
  if (sealed === undefined) return 'ended'
  const secret = await service.secrets.unseal(sealed, totpContext(operator))
  const step = stepOfCode(secret, code, await getDatabaseTime(service.db.pool))
  if (step === undefined) return 'wrong'
  return await transact(service.db, async (tx) => {
    if (!(await updateTotpConfirmed(tx, operator.id, { sealed, step }))) return 'ended'
    const recoveryCodes = await renewRecoveryCodes(tx, operator.id)
    await recordAudit(tx, actorOf(operator, device.address), 'operator.second-factor-set-up', `operator:${operator.id}`)
    await deleteOperatorSessions(tx, operator.id)
    return { token: await startFullSession(service, tx, operator, device, { by: 'new second factor' }), recoveryCodes }
  })
}

/** In development the second factor can be set up later. */
export function maySkipSecondFactor({ isProduction, oidc }: Pick<Config, 'isProduction' | 'oidc'>): boolean {
  return !isProduction && !oidc?.isOnly
}

/** Undefined where it cannot be skipped. */
export async function skipSecondFactor(
  service: Service,
  { operator, session }: SignedInOperator,
  device: Device,
): Promise<string | undefined> {
  if (!maySkipSecondFactor(service.config)) return undefined
  return await transact(service.db, async (tx) => {
    await deleteOperatorSessions(tx, operator.id, { only: session.id })
    return await startFullSession(service, tx, operator, device, { by: 'password alone' })
  })
}

/** `sessionMs` is shorter for an account of the identity provider, which is asked again for the role. */
export async function startFullSession(
  service: Service,
  tx: Transaction,
  operator: Operator,
  device: Device,
  { by, sessionMs }: { by: string; sessionMs?: number },
): Promise<string> {
  await updateOperatorSignedIn(tx, operator.id, service.now())
  await upsertAddress(tx, 'operator', operator.id, await addressHashes(service, device.address))
  await recordAudit(tx, actorOf(operator, device.address), 'operator.signed-in', `operator:${operator.id}`, {
    with: by,
  })
  if (service.config.oidc?.isOnly && by !== service.config.oidc.name) await reportEmergency(service, tx, operator, by)
  return await startSession(service, tx, operator.id, 'full', device, sessionMs)
}

/** With OIDC_ONLY a sign-in with a password is an emergency, or an attack. */
async function reportEmergency(service: Service, tx: Transaction, { id, role }: Operator, by: string): Promise<void> {
  await recordAudit(tx, { name: 'system', address: null }, 'operator.emergency-sign-in', `operator:${id}`, { with: by })
  service.metrics.emergencySignIn()
  for (const admin of await listOperators(tx))
    if (admin.role === 'admin' && admin.isActive)
      await addOperatorMail(tx, {
        kind: 'emergency-sign-in',
        operatorId: admin.id,
        by: `operator:${id}`,
        approvedBy: null,
        role,
      })
  sendOperatorMailSoon(service)
}

async function isKnownAddress(service: Service, email: string, { address }: Device): Promise<boolean> {
  return await isOperatorAddress(service.db.pool, email, await addressHashes(service, address))
}

async function recordFailure(
  service: Service,
  operator: Operator | undefined,
  action: string,
  { address }: Device,
): Promise<void> {
  const subject = operator ? `operator:${operator.id}` : 'operator:unknown'
  await recordAudit(service.db.pool, { name: 'stranger', address }, action, subject)
}
