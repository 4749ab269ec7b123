import { spawnSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The system account PostgreSQL runs under. `spawn` is empty when this process runs under it already. */
export type Account = { uid: number; gid: number; spawn: { uid?: number; gid?: number } }

/**
 * PostgreSQL refuses to run as root, so root runs it under another account: the owner of the database folder, else the owner
 * of the data folder, else one of two well-known accounts. Any other user runs PostgreSQL under their own account.
 */
export async function chooseAccount(dataDir: string, databaseDir: string): Promise<Account | null> {
  const uid = process.getuid?.() ?? -1
  const gid = process.getgid?.() ?? -1
  if (uid !== 0) return { uid, gid, spawn: {} }
  const existing = await findOwner(databaseDir)
  if (existing) return lend(existing.uid, existing.gid)
  const owner = await findOwner(dataDir)
  // initdb refuses an account without a name, and the owner of a folder mounted from another machine may have none here.
  if (owner && hasName(owner.uid)) return lend(owner.uid, owner.gid)
  return findNamed('postgres') ?? findNamed('nobody')
}

/** Whether the account may pass through every folder down to this one, by its permission bits. */
export async function canReach(account: Account, folder: string): Promise<boolean> {
  if (!(await canPass(account, folder))) return false
  const parent = dirname(folder)
  return parent === folder ? true : canReach(account, parent)
}

async function canPass(account: Account, folder: string): Promise<boolean> {
  const { uid, gid, mode } = await stat(folder)
  if (uid === account.uid) return (mode & 0o100) !== 0
  if (gid === account.gid) return (mode & 0o010) !== 0
  return (mode & 0o001) !== 0
}

function lend(uid: number, gid: number): Account {
  return { uid, gid, spawn: { uid, gid } }
}

async function findOwner(folder: string): Promise<{ uid: number; gid: number } | null> {
  const found = await stat(folder).catch(() => null)
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : null
}

function hasName(uid: number): boolean {
  return spawnSync('id', ['-un'], { uid }).status === 0
}

function findNamed(name: string): Account | null {
  const [uid, gid] = ['-u', '-g'].map((flag) => {
    const answer = spawnSync('id', [flag, name], { encoding: 'utf8' })
    return answer.status === 0 ? Number(answer.stdout) : 0
  })
  return uid && gid ? lend(uid, gid) : null
}
