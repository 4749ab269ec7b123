import { createHash } from 'node:crypto'
import { chmod, chown, lstat, mkdir, mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canReach, type Account } from './system-account.ts'

/** A socket's path may have 107 bytes on Linux and 103 on macOS. */
const maxFolderBytes = 103 - '/.s.PGSQL.5432'.length

/**
 * A short private folder for the server's socket: every account that can enter the folder can connect. Any account may create a
 * folder in /tmp, so an existing one is used only if the server's account owns it and no other account may enter; if another
 * account has taken the name, a random suffix is added.
 */
export async function makeSocketFolder(databaseDir: string, account: Account): Promise<string> {
  const hash = createHash('sha256').update(databaseDir).digest('hex').slice(0, 16)
  const parent = await findParent(account)
  const folder = join(parent, `billfold-${hash}`)
  const isNew = await mkdir(folder, { mode: 0o700 }).then(
    () => true,
    () => false,
  )
  // A folder that still belongs to root was just created by another process of root, which is about to chown it.
  if (isNew || (await isPrivateFolder(folder, { uid: process.getuid?.() ?? -1 }))) return own(folder, account)
  if (await isPrivateFolder(folder, account)) return folder
  return own(await mkdtemp(`${folder}-`), account)
}

/**
 * Also asked before we connect to a server that postmaster.pid names: its socket folder may have been removed since, and
 * created again by another account.
 */
export async function isPrivateFolder(folder: string, account: Pick<Account, 'uid'>): Promise<boolean> {
  const found = await lstat(folder).catch(() => null)
  return found !== null && found.isDirectory() && found.uid === account.uid && (found.mode & 0o077) === 0
}

async function own(folder: string, account: Account): Promise<string> {
  await chmod(folder, 0o700)
  if (account.spawn.uid !== undefined) await chown(folder, account.uid, account.gid)
  return folder
}

async function findParent(account: Account): Promise<string> {
  const parent = await realpath(tmpdir()).catch(() => '/tmp')
  const isShort = Buffer.byteLength(join(parent, 'billfold-0123456789abcdef-XXXXXX')) <= maxFolderBytes
  return isShort && (account.spawn.uid === undefined || (await canReach(account, parent))) ? parent : '/tmp'
}
