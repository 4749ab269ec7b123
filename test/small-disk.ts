/** A disk in memory that a test can fill. */
import { spawnSync } from 'node:child_process'
import { eventually } from './eventually.ts'

/** Only root may mount a file system, and a container may forbid it even to root. */
export const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0

/** Mounts it on an existing folder. */
export function mountDisk(folder: string, megabytes: number): void {
  mount(['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
}

export function enlargeDisk(folder: string, megabytes: number): void {
  mount(['-o', `remount,size=${megabytes}m`, folder])
}

function mount(args: string[]): void {
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${stderr}`)
}

/** A server that has stopped may still use the disk: it removes its postmaster.pid before it ends, and its logger ends last. */
export async function unmountDisk(folder: string): Promise<void> {
  await eventually(() => spawnSync('umount', [folder], { encoding: 'utf8' }).stderr, '')
}
