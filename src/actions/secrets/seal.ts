/** Encrypting one text: AES-256-GCM, a random nonce, the key's id in front, and the row it belongs to as additional data. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { sealedMark } from '../../store/sealed.ts'

export type SecretKey = { readonly id: string; readonly bytes: Buffer }

/** The row a sealed text belongs to: a text moved to another row does not decrypt. */
export type SealContext = { readonly purpose: string; readonly id: string }

/** The key of a secret is missing; the message is for the operator. */
export class KeyMissing extends Error {}

/** The id distinguishes keys and reveals nothing about them. */
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
  // Accepting plain text would let anyone who can write to the database choose an operator's secret.
  if (!isSealed(sealed)) throw new Error(`A secret of ${context.purpose}:${context.id} is not encrypted.`)
  const keyId = keyIdOf(sealed)
  const key = keys.find(({ id }) => id === keyId)
  if (!key) throw new KeyMissing(missingKeySentence([keyId], keys))
  const encoded = sealed.slice(sealedMark.length + keyId.length + 1)
  const data = Buffer.from(encoded, 'base64url')
  // Decoding ignores letters that belong to no whole byte: each link must have one spelling.
  if (data.toString('base64url') !== encoded) throw new Error('A sealed text was altered.')
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
    `The database has secrets encrypted with the key ${missing.join(', ')}, but this process has ${here}. ` +
    'Add the missing key to SECRETS_KEY, after the first key and a comma; a key created in development is in ' +
    'DATA_DIR/secrets.key. If the key is lost: npx billfold keys rotate --drop-lost.'
  )
}

function additionalData({ purpose, id }: SealContext): Buffer {
  return Buffer.from(`${purpose}:${id}`)
}
