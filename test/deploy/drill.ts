/** What the drills of docs/operations/backup.md share: a command line, and a shop with a user. */
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callCommand } from '../command.ts'
import { secretsKey, type Credentials } from '../service.ts'

/** A folder for PATH, with a replacement for `npx billfold` that runs this checkout. */
export async function makeDrillFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-drill-'))
  const project = new URL('../../', import.meta.url).pathname
  await writeFile(join(folder, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${project}src/cli.ts "$@"\n`)
  await chmod(join(folder, 'npx'), 0o755)
  return folder
}

export async function command(url: string, ...args: string[]): Promise<Record<string, unknown>> {
  const environment = { DATABASE_URL: url, SECRETS_KEY: secretsKey, BILLFOLD_PASSWORD: 'a long enough password' }
  const { stdout } = await callCommand([...args, '--json'], environment)
  return JSON.parse(stdout) as Record<string, unknown>
}

export async function openShop(url: string): Promise<{ credentials: Credentials; serviceUserId: string }> {
  const { clientId, clientSecret } = await command(url, 'app', 'create', '--name', 'Shop')
  const user = ['--email', 'ada@example.com', '--first', 'Ada', '--last', 'Lovelace', '--link', String(clientId)]
  const { serviceUserId } = await command(url, 'user', 'create', ...user)
  const credentials = { clientId: String(clientId), clientSecret: String(clientSecret) }
  return { credentials, serviceUserId: String(serviceUserId) }
}
