/** The log's key and its signed notes. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { signedAtLine, signerKeyId, toBase64, type Checkpoint } from '../../sdk/verify/note.ts'

/** The seed of an Ed25519 key: 32 secret bytes. */
export type KeySeed = Uint8Array

const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

export function newKeySeed(): KeySeed {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ type: 'pkcs8', format: 'der' }).subarray(pkcs8Prefix.length)
}

const privateKeyOf = (seed: KeySeed) =>
  createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })

const publicBytesOf = (key: KeyObject): Uint8Array =>
  createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-32)

/** The key that anyone may know, in the form that `parseSignerKey` reads. */
export async function publishedKey(name: string, seed: KeySeed): Promise<string> {
  const publicKey = publicBytesOf(privateKeyOf(seed))
  return `${name}+${await signerKeyId(name, publicKey)}+${toBase64(Uint8Array.of(1, ...publicKey))}`
}

/** The text, which ends with a newline, with its signature. */
export async function signNote(text: string, name: string, seed: KeySeed): Promise<string> {
  const key = privateKeyOf(seed)
  const keyId = Buffer.from(await signerKeyId(name, publicBytesOf(key)), 'hex')
  const signature = sign(null, Buffer.from(text), key)
  return `${text}\n— ${name} ${Buffer.concat([keyId, signature]).toString('base64')}\n`
}

export function checkpointText({ origin, size, root, signedAt }: Checkpoint): string {
  return [origin, size, toBase64(root), ...(signedAt ? [signedAtLine(signedAt)] : []), ''].join('\n')
}
