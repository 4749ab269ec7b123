/** The files in deploy/ use existing settings and paths, and leave enough time for the drain. The chart has its own test. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir, readFile, writeFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { variableNames } from '../../src/config.ts'
import { freePort } from '../free-port.ts'
import { run } from '../other-server.ts'
import { testDatabase } from '../postgres.ts'
import { secretsKey } from '../service.ts'
import { ensureProgram } from '../system-package.ts'

setDefaultTimeout(180_000)

const root = new URL('../../', import.meta.url).pathname
const readText = (path: string) => readFile(join(root, 'deploy', path), 'utf8')
const parse = (text: string): unknown => Bun.YAML.parse(text)

/** Undefined if there is nothing at the path. */
const at = (tree: unknown, ...path: string[]): unknown =>
  path.reduce((found, key) => (found as Record<string, unknown> | undefined)?.[key], tree)

/** Parses an instruction in exec form, a JSON list. */
const instruction = (text: string, name: string) =>
  JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(text)![1]!) as string[]

describe('the image', () => {
  test('its command ends the service on SIGTERM, and its health check distinguishes a healthy one from none', async () => {
    const text = await readText('Dockerfile')
    const [bun, ...command] = [...instruction(text, 'ENTRYPOINT'), ...instruction(text, 'CMD')]
    const check = JSON.parse(/^HEALTHCHECK [\s\S]*?CMD (\[.*\])$/m.exec(text)![1]!) as string[]
    expect([bun, check[0]]).toEqual(['bun', 'bun'])
    const database = await testDatabase()
    const { PATH = '', HOME = '' } = process.env
    const port = String(await freePort())
    const settings = { PUBLIC_URL: 'https://wallet.example', SMTP_URL: 'smtp://127.0.0.1:1', CARD_PROCESSOR: 'none' }
    const env = {
      PATH,
      HOME,
      NODE_ENV: 'production',
      PORT: port,
      SECRETS_KEY: secretsKey,
      ...settings,
      DATABASE_URL: database.url,
    }
    const service = Bun.spawn([process.execPath, ...command], { cwd: root, env, stdout: 'pipe', stderr: 'inherit' })
    const reader = service.stdout.pipeThrough(new TextDecoderStream()).getReader()
    for (let said = ''; !said.includes('billfold ready on');) said += (await reader.read()).value ?? ''
    const health = async () => await Bun.spawn([process.execPath, ...check.slice(1)], { env, stderr: 'ignore' }).exited
    expect(await health()).toBe(0)
    service.kill('SIGTERM')
    expect(await service.exited).toBe(0)
    expect(await health()).toBe(1)
    await database.drop()
  })

  test('it is pinned, does not run as root, contains what it copies, and leaves out what it must', async () => {
    const text = await readText('Dockerfile')
    for (const [, image] of text.matchAll(/^ARG \w+_IMAGE=(\S+)$/gm)) expect(image).toMatch(/:\d+\.\d+/)
    expect(text).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m)
    const copied = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths]) => paths!.split(' '))
    for (const path of copied)
      expect([
        path,
        (await Bun.file(join(root, path)).exists()) || (await readdir(join(root, path))).length > 0,
      ]).toEqual([path, true])
    const ignored = (await readText('Dockerfile.dockerignore'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(ignored[0]).toBe('*')
    const allowed = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    expect(copied.filter((path) => !allowed.some((each) => path === each || path.startsWith(`${each}/`)))).toEqual([])
    expect(text).toContain(`billfold:${manifest.version}`)
  })
})

const settingsIn = (text: string) => [...text.matchAll(/\b(BUN_\w+=\S+)/g)].map(([, setting]) => setting!).toSorted()

test('however it is started, the runtime gets the same settings, and knows them', async () => {
  const settings = settingsIn(await readText('start.sh'))
  expect(settings).not.toEqual([])
  expect(settingsIn(await readText('Dockerfile'))).toEqual(settings)
  expect(manifest.scripts.start).toBe('exec deploy/start.sh')
  expect(await readText('billfold.service')).toContain('\nExecStart=/srv/billfold/deploy/start.sh\n')
  for (const setting of settings) expect(await valueOfOption(setting)).toBe(setting.split('=')[1])
})

/** The value that the runtime has for the option of a setting. With a name that it does not know, the runtime does not start. */
async function valueOfOption(setting: string): Promise<string | undefined> {
  const [name, value] = setting.split('=') as [string, string]
  const env = { PATH: process.env['PATH'] ?? '', [name]: value, BUN_JSC_dumpOptions: '2' }
  const child = Bun.spawn([process.execPath, '-e', '0'], { env, stdout: 'pipe', stderr: 'pipe' })
  const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return new RegExp(`\\b${name.replace('BUN_JSC_', '')}=(\\S+)`).exec(texts.join('\n'))?.[1]
}

test('compose has a PostgreSQL 18 with a volume, waits for it, and gives the shutdown enough time', async () => {
  const compose = parse(await readText('compose.yaml'))
  const billfold = (...path: string[]) => at(compose, 'services', 'billfold', ...path)
  expect(at(compose, 'services', 'postgres', 'image')).toMatch(/^postgres:18\./)
  expect(at(compose, 'services', 'postgres', 'volumes')).toEqual(['postgres:/var/lib/postgresql'])
  expect(billfold('build')).toEqual({ context: '..', dockerfile: 'deploy/Dockerfile' })
  expect(billfold('image')).toBe(`billfold:${manifest.version}`)
  const environment = Object.keys(billfold('environment') as object)
  expect(environment.filter((name) => !variableNames.includes(name))).toEqual([])
  expect(Number.parseInt(String(billfold('stop_grace_period')))).toBeGreaterThan(20)
})

test.skipIf(!Bun.which('systemd-analyze'))('systemd accepts the unit', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-unit-'))
  // systemd also checks that the program exists, and it is not at that path here.
  const unit = (await readText('billfold.service')).replace('/srv/billfold/deploy/start.sh', '/bin/true')
  const file = join(folder, 'billfold.service')
  await writeFile(file, unit)
  const { code, output } = await run(['systemd-analyze', 'verify', '--man=no', file])
  expect([code, output.split('\n').filter((line) => line.includes('billfold.service'))]).toEqual([0, []])
  await rm(folder, { recursive: true })
})

test('Caddy accepts its file', async () => {
  const caddy = await ensureProgram('caddy', 'caddy')
  const { code, output } = await run([caddy, 'adapt', '--config', 'deploy/Caddyfile', '--adapter', 'caddyfile'])
  expect([code, output]).toEqual([0, expect.stringContaining('"flush_interval":-1')])
})
