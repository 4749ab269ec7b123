/** Programs that tests need from the system: found, or installed where the system's packages can be. */

/** One installation at a time, because files of a run start together and the package manager refuses a second one. */
export function aptCommand(packages: string): string[] {
  const install = 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends'
  return ['flock', '-w', '600', '/tmp/billfold-test-packages.lock', 'sh', '-c', `${install} ${packages}`]
}

/** Whether this process may install packages. */
export const canInstall = process.getuid?.() === 0 && Bun.which('apt-get') !== null

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
