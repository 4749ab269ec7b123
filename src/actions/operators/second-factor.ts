/** The second factor of operators: codes of an authenticator app, and recovery codes for a lost phone. */
import { randomBytes } from 'node:crypto'
import { getDatabaseTime } from '../../store/connection/database.ts'
import type { Queryable, Transaction } from '../../store/connection/database.ts'
import * as store from '../../store/operators.ts'
import type { Operator } from '../../store/operators.ts'
import type { SealContext } from '../secrets/seal.ts'
import type { Service } from '../service.ts'
import { hashSecret } from '../tokens.ts'

/** Loaded at the first use: loading takes 15 ms, and most processes never need it. */
function loadOtp() {
  return require('otplib') as typeof import('otplib')
}

const periodSeconds = 30
const recoveryCodeCount = 10

/** The lifetime of the session in which it is set up. */
const pendingMs = 10 * 60_000

/** The secret that is being set up. It is stored, so that a reload shows the same QR code. */
export async function getPendingSecret(service: Service, operator: Operator): Promise<string> {
  const { pool } = service.db
  const context = totpContext(operator)
  let sealed = await store.findPendingTotp(pool, operator.id)
  if (sealed === undefined) {
    const fresh = await service.secrets.seal(loadOtp().generateSecret(), context)
    await store.updatePendingTotp(pool, operator.id, { sealed: fresh, lifetimeMs: pendingMs })
    // Another page of the same operator may have stored a secret first.
    sealed = (await store.findPendingTotp(pool, operator.id)) ?? fresh
  }
  return await service.secrets.unseal(sealed, context)
}

export function totpContext({ id }: Pick<Operator, 'id'>): SealContext {
  return { purpose: 'operator-totp', id }
}

/** The content of the QR code. */
export function totpUri(service: Service, operator: Operator, secret: string): string {
  const { about, publicUrl } = service.config
  return loadOtp().generateURI({ issuer: `${about.name} ${new URL(publicUrl).host}`, label: operator.email, secret })
}

/** The time step of a code, with one step of tolerance for clocks; undefined when the code is wrong. */
export function stepOfCode(secret: string, code: string, now: Date): number | undefined {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const epoch = Math.floor(now.getTime() / 1000)
  const result = loadOtp().verifySync({ secret, token, epoch, epochTolerance: periodSeconds })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

/** Accepts a code of the app or an unused recovery code, and marks it as used: no code is accepted twice. */
export async function takeCode(
  service: Service,
  db: Queryable,
  operator: Operator,
  code: string,
): Promise<'app' | 'recovery' | undefined> {
  const now = await getDatabaseTime(db)
  const secret = operator.totpSealed && (await service.secrets.unseal(operator.totpSealed, totpContext(operator)))
  const step = secret ? stepOfCode(secret, code, now) : undefined
  if (step !== undefined) return (await store.updateTotpStep(db, operator.id, step)) ? 'app' : undefined
  const isTaken = await store.updateRecoveryCodeUsed(db, operator.id, hashRecoveryCode(code), now)
  return isTaken ? 'recovery' : undefined
}

/** Eighty random bits each. They are shown once; only their hashes are stored. */
export async function renewRecoveryCodes(tx: Transaction, operatorId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode)
  await store.replaceRecoveryCodes(tx, operatorId, codes.map(hashRecoveryCode))
  return codes
}

/** Without letters that resemble digits. */
const alphabet = 'abcdefghjkmnpqrstvwxyz0123456789'

function newRecoveryCode(): string {
  const letters = Array.from(randomBytes(16), (byte) => alphabet[byte % 32]!).join('')
  return letters.match(/.{4}/g)!.join('-')
}

function hashRecoveryCode(code: string): Buffer {
  return hashSecret(`recovery ${code.toLowerCase().replace(/[^a-z0-9]/g, '')}`)
}
