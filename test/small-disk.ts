/** A disk in memory that a test can fill. */
import { spawnSync } from 'node:child_process'
import { isRoot } from './root.ts'

/** Only root may mount a file system, and a container may forbid it even to root. */
export const canMount = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0

/** Mounts it on an existing folder. */
export function mountDisk(folder: string, megabytes: number): void {
  run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
}

export function enlargeDisk(folder: string, megabytes: number): void {
  run('mount', ['-o', `remount,size=${megabytes}m`, folder])
}

/** Lazily, because a server that has stopped may still use the disk: it removes its postmaster.pid before it ends, and its logger ends last. */
export function unmountDisk(folder: string): void {
  run('umount', ['--lazy', folder])
}

function run(program: string, args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
}
