/** Which wallet somebody means. */
import { normaliseEmail } from '../actions/people/create-user.ts'
import type { Service } from '../actions/service.ts'
import { isUuid } from '../actions/tokens.ts'
import { findUserByEmail } from '../store/users.ts'
import { findLinkedWallets, findWallet } from '../store/wallets.ts'
import { CommandRefused } from './command.ts'

/** By the wallet's id, by the email of its user, or by a serviceUserId. */
export async function findWalletId(service: Service, text: string): Promise<string> {
  const { pool } = service.db
  let id: string | undefined
  if (text.includes('@')) id = (await findUserByEmail(pool, normaliseEmail(text)))?.id
  else if (text.startsWith('su_')) id = (await findLinkedWallets(pool, [text])).get(text)?.walletId
  else if (isUuid(text.toLowerCase())) id = (await findWallet(pool, text))?.id
  if (id === undefined)
    throw new CommandRefused(`There is no wallet "${text}". Write its id, an email or a serviceUserId.`)
  return id
}
