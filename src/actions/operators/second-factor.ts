/** The second factor of operators: codes of an authenticator app, and recovery codes for the day the phone is gone. */
import { randomBytes } from 'node:crypto'
import { getDatabaseTime } from '../../store/connection/database.ts'
import type { Queryable, Transaction } from '../../store/connection/database.ts'
import * as store from '../../store/operators.ts'
import type { Operator } from '../../store/operators.ts'
import type { SealContext } from '../secrets/seal.ts'
import type { Service } from '../service.ts'
import { hashSecret } from '../tokens.ts'

/** When the first operator comes with a code: it is 15 ms of a start, and most processes never see one. */
function loadOtp() {
  return require('otplib') as typeof import('otplib')
}

const periodSeconds = 30
const recoveryCodeCount = 10

/** As long as whoever signed in by password has to find the phone. */
const pendingMs = 10 * 60_000

/** The secret that is being set up: the one from before, or a new one, so that a reload shows the same picture. */
export async function getPendingSecret(service: Service, operator: Operator): Promise<string> {
  const { pool } = service.db
  const context = totpContext(operator)
  let sealed = await store.findPendingTotp(pool, operator.id)
  if (sealed === undefined) {
    const fresh = await service.secrets.seal(loadOtp().generateSecret(), context)
    await store.updatePendingTotp(pool, operator.id, { sealed: fresh, lifetimeMs: pendingMs })
    // Another page of the same operator may have been first.
    sealed = (await store.findPendingTotp(pool, operator.id)) ?? fresh
  }
  return await service.secrets.unseal(sealed, context)
}

/** An operator's secret opens for this operator alone. */
export function totpContext({ id }: Pick<Operator, 'id'>): SealContext {
  return { purpose: 'operator-totp', id }
}

/** What the picture says to the authenticator app. */
export function totpUri(service: Service, operator: Operator, secret: string): string {
  const { about, publicUrl } = service.config
  return loadOtp().generateURI({ issuer: `${about.name} ${new URL(publicUrl).host}`, label: operator.email, secret })
}

/** The time step a code belongs to, one step early or late allowed for clocks; undefined when it is wrong. */
export function stepOfCode(secret: string, code: string, now: Date): number | undefined {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const epoch = Math.floor(now.getTime() / 1000)
  const result = loadOtp().verifySync({ secret, token, epoch, epochTolerance: periodSeconds })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

/** A code of the app, or an unused recovery code. Either is taken for good: the same one is never accepted twice. */
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
