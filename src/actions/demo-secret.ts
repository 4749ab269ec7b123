/**
 * The demo app's secret, in a file that only this machine's user can read. The database stores only a hash, and the
 * example shop needs the secret at every start.
 */
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { App } from '../store/apps.ts'
import { hashSecret } from './tokens.ts'

export async function readDemoSecret(dataDir: string): Promise<string | undefined> {
  try {
    const content: unknown = JSON.parse(await readFile(fileIn(dataDir), 'utf8'))
    const secret = content !== null && typeof content === 'object' && 'clientSecret' in content && content.clientSecret
    return typeof secret === 'string' ? secret : undefined
  } catch {
    // Missing or unreadable: the caller makes a new secret.
    return undefined
  }
}

/** Writes to a draft and renames it, so another process never reads half of the file. */
export async function writeDemoSecret(dataDir: string, clientId: string, clientSecret: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const draft = `${fileIn(dataDir)}.${process.pid}`
  const file = await open(draft, 'w', 0o600)
  await file.writeFile(`${JSON.stringify({ clientId, clientSecret }, undefined, 2)}\n`)
  await file.close()
  await rename(draft, fileIn(dataDir))
}

export function acceptsSecret(app: App, secret: string): boolean {
  const hash = hashSecret(secret)
  return app.secrets.some((known) => known.hash.equals(hash) && !known.hasEnded)
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'demo.json')
}
