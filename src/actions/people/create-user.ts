/** Creates a user and the user's wallet. */
import { isLabel } from '../../ledger/reference.ts'
import { transact } from '../../store/connection/database.ts'
import { getOrInsertLink } from '../../store/links.ts'
import { insertUser } from '../../store/people/users.ts'
import { recordAudit, type Actor } from '../audit.ts'
import { hashPassword } from './passwords.ts'
import type { Service } from '../service.ts'
import { newId, newServiceUserId } from '../tokens.ts'

export type NewUser = {
  readonly email: string
  readonly password: string
  readonly firstName: string
  readonly lastName: string
  /** The app to link the user to. */
  readonly clientId?: string | undefined
}

export type CreatedUser = { readonly userId: string; readonly serviceUserId: string | undefined }

/** Undefined when the email is taken. */
export async function createUser(service: Service, actor: Actor, user: NewUser): Promise<CreatedUser | undefined> {
  const passwordHash = await hashPassword(service, user.password)
  const id = newId(service.now())
  const { firstName, lastName, clientId } = user
  return await transact(service.db, async (tx) => {
    const email = normaliseEmail(user.email)
    if (!(await insertUser(tx, { id, email, passwordHash, firstName, lastName }))) return undefined
    const link = clientId && (await getOrInsertLink(tx, { id: newServiceUserId(), clientId, userId: id }))
    await recordAudit(tx, actor, 'user.created', `user:${id}`, clientId ? { clientId } : {})
    return { userId: id, serviceUserId: link ? link.id : undefined }
  })
}

export function normaliseEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase()
}

/** One plain address. Commas, brackets and quotes are refused: mail programs read them as a list, a name or a comment. */
export function isEmail(email: string): boolean {
  return email.length <= 254 && email.isWellFormed() && emailPattern.test(email)
}

export const maxNameLength = 100

/** Names of users, operators and apps, without surrounding space. */
export function isName(name: string): boolean {
  return isLabel(name, maxNameLength)
}

const emailPattern =
  /^[^\s@\p{Cc}\p{Cf}<>()[\]\\,;:"]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?\.)+[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}]$/u
