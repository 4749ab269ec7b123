/** Encrypting one text: AES-256-GCM, a random nonce, the key's id in front, and the row it belongs to as additional data. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { sealedMark } from '../../store/sealed.ts'

export type SecretKey = { readonly id: string; readonly bytes: Buffer }

/** In which column's rows it stands, and in which row. */
export type SealContext = { readonly purpose: string; readonly id: string }

/** A sentence for whoever runs the service: it has not the key that a secret was encrypted with. */
export class KeyMissing extends Error {}

/** The id tells keys apart and says nothing about them. */
export function toSecretKey(base64: string): SecretKey {
  const bytes = Buffer.from(base64, 'base64')
  return { id: createHmac('sha256', bytes).update('billfold key id').digest('hex').slice(0, 8), bytes }
}

const [nonceLength, tagLength] = [12, 16]

export function seal({ id, bytes }: SecretKey, text: string, context: SealContext): string {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv('aes-256-gcm', bytes, nonce)
  cipher.setAAD(additionalData(context))
  const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
  return `${sealedMark}${id}:${Buffer.concat(parts).toString('base64url')}`
}

/** Throws when no key opens it: KeyMissing when there is no such key, another error when the text belongs to another row. */
export function unseal(keys: readonly SecretKey[], sealed: string, context: SealContext): string {
  // Taken as it is, a plain text would let whoever can write to the database choose an operator's secret.
  if (!isSealed(sealed)) throw new Error(`A secret of ${context.purpose}:${context.id} is not encrypted.`)
  const keyId = keyIdOf(sealed)
  const key = keys.find(({ id }) => id === keyId)
  if (!key) throw new KeyMissing(missingKeySentence([keyId], keys))
  const data = Buffer.from(sealed.slice(sealedMark.length + keyId.length + 1), 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, data.subarray(0, nonceLength), {
    authTagLength: tagLength,
  })
  decipher.setAAD(additionalData(context))
  decipher.setAuthTag(data.subarray(-tagLength))
  return decipher.update(data.subarray(nonceLength, -tagLength), undefined, 'utf8') + decipher.final('utf8')
}

export function isSealed(text: string): boolean {
  return text.startsWith(sealedMark)
}

export function keyIdOf(sealed: string): string {
  return sealed.slice(sealedMark.length).split(':')[0]!
}

export function missingKeySentence(missing: readonly string[], keys: readonly Pick<SecretKey, 'id'>[]): string {
  const here = keys.length === 0 ? 'no key' : keys.map(({ id }) => id).join(', ')
  return (
    `The database has secrets that were encrypted with the key ${missing.join(', ')}; here is ${here}. ` +
    'Write that key into SECRETS_KEY, after the first one and a comma; a key that was made in development is in ' +
    'DATA_DIR/secrets.key. If it is lost: npx billfold keys rotate --drop-lost.'
  )
}

function additionalData({ purpose, id }: SealContext): Buffer {
  return Buffer.from(`${purpose}:${id}`)
}
