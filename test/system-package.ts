/** Programs that tests need from the system: found, or installed where the system's packages can be. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRoot } from './root.ts'

/** One installation at a time, because files of a run start together and the package manager refuses a second one. */
export function aptCommand(packages: string): string[] {
  const install = 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends'
  return ['flock', '-w', '600', '/tmp/billfold-test-packages.lock', 'sh', '-c', `${install} ${packages}`]
}

/** Whether this process may install packages. */
export const canInstall = isRoot && Bun.which('apt-get') !== null

export async function ensureProgram(name: string, packages: string): Promise<string> {
  const find = () => Bun.which(name, { PATH: `${process.env['PATH']}:/usr/sbin` })
  const found = find()
  if (found) return found
  if (canInstall) {
    const child = Bun.spawn(aptCommand(packages), { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' })
    await child.exited
  }
  const installed = find()
  if (installed) return installed
  throw new Error(`There is no ${name}: install the package ${packages} of your system.`)
}

/**
 * A program of a package that must not be installed, because its installation starts a service: found, or unpacked into a folder
 * that the next run finds again. Undefined where packages cannot be downloaded.
 */
export async function unpackedProgram(name: string, packageName: string): Promise<string | undefined> {
  const found = Bun.which(name)
  if (found) return found
  const folder = join(tmpdir(), `billfold-test-${packageName}`)
  const unpacked = join(folder, 'usr/bin', name)
  if (existsSync(unpacked)) return unpacked
  if (!canInstall) return undefined
  const script = `set -e; draft=$(mktemp -d); cd "$draft"
    apt-get download -q ${packageName} || { apt-get update -q && apt-get download -q ${packageName}; }
    dpkg-deb -x ${packageName}_*.deb unpacked; mv -T unpacked ${folder}; rm -r "$draft"`
  const locked = ['flock', '-w', '600', '/tmp/billfold-test-packages.lock', 'timeout', '120', 'sh', '-c', script]
  const child = Bun.spawn(locked, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  await child.exited
  return existsSync(unpacked) ? unpacked : undefined
}
