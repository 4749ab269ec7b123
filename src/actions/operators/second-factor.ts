/** The second factor of operators: codes of an authenticator app, and recovery codes for the day the phone is gone. */
import { randomBytes } from 'node:crypto'
import { generateSecret, generateURI, verifySync } from 'otplib'
import { getDatabaseTime } from '../../store/clock.ts'
import type { Queryable, Transaction } from '../../store/database.ts'
import * as store from '../../store/operators.ts'
import type { Operator } from '../../store/operators.ts'
import type { Service } from '../service.ts'
import { hashSecret } from '../tokens.ts'

const periodSeconds = 30
const recoveryCodeCount = 10

/** The secret that is being set up: the one from before, or a new one, so that a reload shows the same picture. */
export async function getPendingSecret(service: Service, operator: Operator): Promise<string> {
  if (operator.totpPending) return operator.totpPending
  const secret = generateSecret()
  await store.updatePendingTotp(service.db.pool, operator.id, secret)
  return secret
}

/** What the picture says to the authenticator app. */
export function totpUri(service: Service, operator: Operator, secret: string): string {
  const { host } = new URL(service.config.publicUrl)
  return generateURI({ issuer: `Billfold ${host}`, label: operator.email, secret })
}

/** The time step a code belongs to, one step early or late allowed for clocks; undefined when it is wrong. */
export function stepOfCode(secret: string, code: string, now: Date): number | undefined {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const epoch = Math.floor(now.getTime() / 1000)
  const result = verifySync({ secret, token, epoch, epochTolerance: periodSeconds })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

/** A code of the app, or an unused recovery code. Either is taken for good: the same one is never accepted twice. */
export async function takeCode(
  db: Queryable,
  operator: Operator,
  code: string,
): Promise<'app' | 'recovery' | undefined> {
  const now = await getDatabaseTime(db)
  const step = operator.totpSecret === null ? undefined : stepOfCode(operator.totpSecret, code, now)
  if (step !== undefined) return (await store.updateTotpStep(db, operator.id, step)) ? 'app' : undefined
  const isTaken = await store.updateRecoveryCodeUsed(db, operator.id, hashRecoveryCode(code), now)
  return isTaken ? 'recovery' : undefined
}

/** Eighty random bits each. They are shown once; only their hashes stay. */
export async function renewRecoveryCodes(tx: Transaction, operatorId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode)
  await store.replaceRecoveryCodes(tx, operatorId, codes.map(hashRecoveryCode))
  return codes
}

/** Without letters and digits that look alike. */
const alphabet = 'abcdefghjkmnpqrstvwxyz0123456789'

function newRecoveryCode(): string {
  const letters = Array.from(randomBytes(16), (byte) => alphabet[byte % 32]!).join('')
  return letters.match(/.{4}/g)!.join('-')
}

function hashRecoveryCode(code: string): Buffer {
  return hashSecret(`recovery ${code.toLowerCase().replace(/[^a-z0-9]/g, '')}`)
}
