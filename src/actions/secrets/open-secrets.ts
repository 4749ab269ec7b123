/** The keys that encrypt secrets: those of SECRETS_KEY, or in development one in the data folder. */
import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isKeyText, type Config } from '../../config.ts'
import { seal, toSecretKey, unseal, type SealContext, type SecretKey } from './seal.ts'

/** Each purpose has its own key, so that equal data has unrelated hashes in two places. */
type HashPurpose = 'address' | 'limit'

/** By key of SECRETS_KEY, in its order. */
export type KeyedHashes = readonly [first: Buffer, ...others: Buffer[]]

export type Secrets = {
  /** Encrypts with the first key. */
  readonly seal: (text: string, context: SealContext) => Promise<string>
  readonly unseal: (sealed: string, context: SealContext) => Promise<string>
  /**
   * Hashes of data that has few possible values, such as addresses and emails: a plain hash in a copy of the database could be
   * guessed. Store the first; compare with all, because it may have been stored before a new key was put first.
   */
  readonly hashes: (purpose: HashPurpose, data: string | Buffer) => Promise<KeyedHashes>
  /** All keys; the first one encrypts. In development a missing key is created. */
  readonly keys: () => Promise<readonly SecretKey[]>
  /** The existing keys; creates none. */
  readonly knownKeys: () => Promise<readonly SecretKey[]>
}

/** The file is read or created at the first use of a key: a service without secrets needs none. */
export function openSecrets({ secretsKeys, dataDir }: Pick<Config, 'secretsKeys' | 'dataDir'>): Secrets {
  const configured = secretsKeys.map(toSecretKey)
  let kept: SecretKey | undefined
  const keys = async () => {
    if (configured.length > 0) return configured
    kept ??= toSecretKey((await readKeyFile(dataDir)) ?? (await makeKeyFile(dataDir)))
    return [kept]
  }
  const hashKeys = new Map<string, Buffer>()
  const hashKeyOf = ({ id, bytes }: SecretKey, purpose: HashPurpose) => {
    const name = `${id} ${purpose}`
    const derived = hashKeys.get(name) ?? Buffer.from(hkdfSync('sha256', bytes, '', `billfold hash ${purpose}`, 32))
    hashKeys.set(name, derived)
    return derived
  }
  return {
    keys,
    hashes: async (purpose, data) => {
      const hashOf = (key: SecretKey) => createHmac('sha256', hashKeyOf(key, purpose)).update(data).digest()
      const [first, ...others] = await keys()
      return [hashOf(first!), ...others.map(hashOf)]
    },
    knownKeys: async () => {
      const inFile = configured.length > 0 ? undefined : await readKeyFile(dataDir)
      return inFile === undefined ? configured : [toSecretKey(inFile)]
    },
    seal: async (text, context) => seal((await keys())[0]!, text, context),
    unseal: async (sealed, context) => unseal(await keys(), sealed, context),
  }
}

async function readKeyFile(dataDir: string): Promise<string | undefined> {
  const text = await readFile(fileIn(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  // Replacing it would leave every secret unreadable, so a damaged file is never replaced.
  if (!isKeyText(text.trim())) throw new Error(`${fileIn(dataDir)} holds no key: put it back, or set SECRETS_KEY.`)
  return text.trim()
}

/** Links a complete draft to its name, so no process reads half a key. Of several processes at once the first wins. */
async function makeKeyFile(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const draft = `${fileIn(dataDir)}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(`${randomBytes(32).toString('base64')}\n`)
    await file.sync()
    await file.close()
    await link(draft, fileIn(dataDir)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
  return (await readKeyFile(dataDir))!
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'secrets.key')
}
