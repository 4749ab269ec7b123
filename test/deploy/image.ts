/**
 * Builds deploy/Dockerfile with buildah and starts the image with runc. The two base images are in a registry; Debian 12 from
 * Debian's own packages replaces both of them, with this machine's Node and npm for the first.
 */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { tmpdir } from 'node:os'
import { run } from '../other-server.ts'
import { isRoot } from '../root.ts'

const programs = ['buildah', 'runc', 'debootstrap', 'node', 'npm']

/** Undefined where the image can be built. */
export function whyNoImage(): string | undefined {
  if (process.env['TEST_ALL'] !== '1') return 'it takes minutes: npm test -- all'
  const missing = programs.filter((name) => !Bun.which(name))
  if (missing.length > 0) return `this machine has no ${missing.join(', ')}`
  return isRoot ? undefined : 'a builder without root needs a registry'
}

async function runWell(command: string[], environment: Record<string, string> = {}): Promise<string> {
  const { code, output } = await run(command, environment)
  if (code !== 0) throw new Error(`${command.join(' ')}: ${output}`)
  return output.trim()
}

/** Debian's packages, unpacked once: the next run finds the folder again. */
async function debianRoot(): Promise<string> {
  const folder = join(tmpdir(), 'billfold-test-bookworm')
  if (existsSync(folder)) return folder
  const draft = await mkdtemp(`${folder}-`)
  await runWell(['debootstrap', '--variant=minbase', 'bookworm', draft])
  await rename(draft, folder)
  return folder
}

export type ImageConfig = {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly StopSignal: string
  readonly ExposedPorts: Record<string, object>
  readonly Healthcheck: { readonly Test: readonly string[] }
}

export type Image = {
  readonly config: ImageConfig
  /** Its files. */
  readonly root: string
  readonly folder: string
  readonly remove: () => Promise<void>
}

/** The arguments are those of `docker build`. */
export async function buildImage(given: readonly string[]): Promise<Image> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-image-'))
  const storage = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  const buildah = (...args: string[]) => runWell(['buildah', ...storage, ...args], { BUILDAH_ISOLATION: 'chroot' })
  const base = await buildah('from', 'scratch')
  await buildah('add', '--quiet', base, await debianRoot(), '/')
  await buildah('commit', '--quiet', base, 'base-to-run')
  await addNode(base, buildah)
  await buildah('commit', '--quiet', base, 'base-to-build')
  const bases = ['--build-arg', 'BUILD_IMAGE=localhost/base-to-build', '--build-arg', 'RUN_IMAGE=localhost/base-to-run']
  await buildah('build', '--format', 'docker', '--iidfile', join(folder, 'id'), ...bases, ...given)
  const id = (await Bun.file(join(folder, 'id')).text()).trim()
  const inspected = JSON.parse(await buildah('inspect', '--type', 'image', id)) as { Docker: { config: ImageConfig } }
  const root = await buildah('mount', await buildah('from', id))
  return { config: inspected.Docker.config, root, folder, remove: () => rm(folder, { recursive: true }) }
}

/** This machine's Node and npm, and the certificates with which it reaches the npm registry. Only the first stage has them. */
async function addNode(container: string, buildah: (...args: string[]) => Promise<string>): Promise<void> {
  const npm = dirname(dirname(await runWell(['readlink', '-f', Bun.which('npm')!])))
  await buildah(
    'copy',
    '--quiet',
    container,
    await runWell(['readlink', '-f', Bun.which('node')!]),
    '/usr/local/bin/node',
  )
  await buildah('copy', '--quiet', container, npm, '/usr/local/lib/node_modules/npm')
  await buildah('run', container, '--', 'ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm')
  const certificates = process.env['NODE_EXTRA_CA_CERTS']
  if (!certificates) return
  await buildah('copy', '--quiet', container, certificates, '/usr/local/share/certificates.pem')
  await buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/usr/local/share/certificates.pem', container)
}

/** The limits that compose.yaml gives the service. */
export type Limits = { readonly isReadOnly: boolean; readonly tmpfs: readonly string[] }

export type Container = {
  /** Runs a command inside, as `docker compose exec` does. */
  readonly exec: (...command: string[]) => Promise<{ code: number; output: string }>
  /** Sends SIGTERM, and waits; the exit code. */
  readonly stop: () => Promise<number>
  readonly kill: () => Promise<void>
  readonly exited: Promise<number>
}

/** Starts the image's own command as its own user, without capabilities, on this machine's network. */
export async function startImage(
  { config, root, folder }: Image,
  limits: Limits,
  settings: Record<string, string>,
): Promise<Container> {
  const bundle = await mkdtemp(join(folder, 'bundle-'))
  await runWell(['runc', 'spec', '--bundle', bundle])
  const spec = (await Bun.file(join(bundle, 'config.json')).json()) as {
    process: object
    mounts: { destination: string }[]
    linux: { namespaces: { type: string }[] }
  }
  const [uid, gid] = config.User.split(':').map(Number)
  const mounts = limits.tmpfs.map((each) => {
    const [destination, options = ''] = each.split(':')
    return { destination, type: 'tmpfs', source: 'tmpfs', options: options.split(',').filter(Boolean) }
  })
  const container = {
    ...spec,
    root: { path: root, readonly: limits.isReadOnly },
    process: {
      user: { uid, gid },
      args: [...config.Entrypoint, ...config.Cmd],
      env: [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)],
      cwd: config.WorkingDir,
      capabilities: {},
      noNewPrivileges: true,
    },
    mounts: [...spec.mounts.filter(({ destination }) => !destination.startsWith('/sys')), ...mounts],
    linux: { ...spec.linux, namespaces: ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
  }
  await writeFile(join(bundle, 'config.json'), JSON.stringify(container))
  const id = `billfold-${crypto.randomUUID()}`
  const state = join(folder, 'runc')
  await mkdir(state, { recursive: true })
  const runc = ['runc', '--root', state]
  const child = Bun.spawn([...runc, 'run', '--bundle', bundle, id], {
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
  })
  return {
    exited: child.exited,
    exec: (...command) => run([...runc, 'exec', id, ...command]),
    stop: () => {
      child.kill(config.StopSignal as NodeJS.Signals)
      return child.exited
    },
    kill: async () => {
      child.kill('SIGKILL')
      await run([...runc, 'delete', '--force', id])
    },
  }
}
