/** The published package as a customer gets it: packed, installed into an empty project, and used from Node. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPackage, sdkVersion } from './build.ts'

setDefaultTimeout(300_000)

const folder = import.meta.dir
const bin = join(folder, '../node_modules/.bin')
const maxScriptBytes = 5 * 1024

let project = ''
let packed: string[] = []

/** Answers with a wallet that echoes the request's headers, so that the caller can read them. */
const service = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) =>
    Response.json({
      balance: 5,
      message: 'Debited.',
      transactions: [],
      isActive: true,
      looksLikeBrowser: request.headers.has('origin') || request.headers.has('sec-fetch-site'),
      userAgent: request.headers.get('user-agent'),
    }),
})

/** No process listens on this port and no system assigns it. Node refuses to connect to some other low ports. */
const closedPort = 2

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'billfold-sdk-'))
  const report = await run(['npm', 'pack', '--json', '--pack-destination', project], folder)
  packed = filesOf(report)
  const archive = (await readdir(project)).find((name) => name.endsWith('.tgz'))
  await Bun.write(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
  await run(['npm', 'install', '--offline', '--no-audit', '--no-fund', `./${archive}`], project)
})

afterAll(async () => {
  await service.stop(true)
  await rm(project, { recursive: true, force: true })
})

async function run(command: string[], cwd: string): Promise<string> {
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
  const child = Bun.spawn(command, { cwd, env, stdout: 'pipe', stderr: 'pipe' })
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}\n${out}\n${err}`)
  return out
}

function nodeVersion(): string {
  return Bun.spawnSync(['node', '--version']).stdout.toString().trim().slice(1)
}

/** npm 10 and 11 print a list of packages, later versions an object by name; the build may print lines before it. */
function filesOf(report: string): string[] {
  const json: unknown = JSON.parse(report.slice(report.search(/^[[{]/m)))
  const [first] = Object.values(json as Record<string, { files: { path: string }[] }>)
  return (first?.files ?? []).map((file) => file.path)
}

async function runInProject(name: string, code: string): Promise<string> {
  await Bun.write(join(project, name), code)
  return (await run(['node', name], project)).trim()
}

/** Makes a client for each address in one process, and returns the warnings. */
async function warningsFor(...addresses: string[]): Promise<string> {
  const listen = `process.on('warning', ({ name, message }) => console.log(name, message))\n`
  const rest = "clientId: 'app_1', clientSecret: 'sk_hidden' }"
  const made = addresses.map((baseUrl) => `new Billfold({ baseUrl: '${baseUrl}', ${rest})\n`)
  return await runInProject('warn.mjs', `import { Billfold } from '@billfold/sdk/server'\n${listen}${made.join('')}`)
}

const use = `
  const billfold = new Billfold({ baseUrl: '${service.url.origin}', clientId: 'app', clientSecret: 'secret' })
  const user = { serviceUserId: 'su_0123456789abcdef' }
  const wallet = await billfold.wallet(user)
  const debit = await billfold.debit({ ...user, amount: 1, referenceType: 'T', referenceId: '1' })
  const refused = new Billfold({ baseUrl: 'http://127.0.0.1:${closedPort}', clientId: 'app', clientSecret: 'secret', maxRetries: 0 })
  const error = await refused.wallet(user).catch((error) => error)
  console.log(JSON.stringify([
    wallet.balance, debit.replayed, debit.looksLikeBrowser, debit.userAgent, error instanceof BillfoldError, error.message,
    ERROR_CODES.length > 20, parseWidgetMessage({ type: 'SERVICE_WALLET_UPDATED', version: 1 }).type, typeof mountWallet,
  ]))
`
const used = JSON.stringify([
  5,
  false,
  false,
  `billfold-sdk/${sdkVersion} node/${nodeVersion()}`,
  true,
  `GET http://127.0.0.1:${closedPort}/api/server/wallet got no answer: ECONNREFUSED.`,
  true,
  'SERVICE_WALLET_UPDATED',
  'function',
])

describe('the package', () => {
  test('the installed package works from Node as ESM', async () => {
    const imports = `
      import { Billfold, BillfoldError } from '@billfold/sdk/server'
      import { mountWallet } from '@billfold/sdk/browser'
      import { ERROR_CODES, parseWidgetMessage } from '@billfold/sdk/contract'
    `
    expect(await runInProject('use.mjs', imports + use)).toBe(used)
  })

  test('the installed package works from Node as CommonJS', async () => {
    const imports = `
      const { Billfold, BillfoldError } = require('@billfold/sdk/server')
      const { mountWallet } = require('@billfold/sdk/browser')
      const { ERROR_CODES, parseWidgetMessage } = require('@billfold/sdk/contract')
    `
    expect(await runInProject('use.cjs', `${imports} void (async () => {${use}})()`)).toBe(used)
  })

  const entries = ['server', 'browser', 'react', 'verify', 'contract'] as const

  test.each([
    ['require', 'no-path.cjs', "require('@billfold/sdk')"],
    ['import of every name', 'names.mjs', "import { NAMES } from '@billfold/sdk'; console.log(NAMES)"],
    ['import of everything', 'all.mjs', "import * as sdk from '@billfold/sdk'; console.log(sdk)"],
    ['import() in CommonJS', 'later.cjs', "void import('@billfold/sdk')"],
  ])('without a path, %s names the paths to import', async (_name, file, code) => {
    const parts = await Promise.all(entries.map(async (entry) => (await import(`./${entry}.ts`)) as object))
    const names = [...new Set(parts.flatMap((part) => Object.keys(part)))]
    expect(names).toContain('Billfold')
    const said = runInProject(file, code.replaceAll('NAMES', names.join()))
    const complaint = String(await said.catch((error: unknown) => error))
    expect(complaint).toContain('@billfold/sdk has no import without a path')
    for (const entry of entries) expect(complaint).toContain(`@billfold/sdk/${entry}`)
  })

  test('an address without encryption outside of private networks is warned about once, without the secret', async () => {
    const near = ['localhost:3000', '127.0.0.1', '[::1]:3000', '10.1.2.3', '172.20.0.2', '192.168.1.9', '[fd00::1]']
    const names = ['billfold:3000', 'billfold.default.svc', 'wallet.internal', 'wallet.localhost']
    expect(await warningsFor(...[...near, ...names].map((host) => `http://${host}`), 'https://wallet.example')).toBe('')
    for (const host of ['10.wallet.example', '172.32.0.1', '[2001:db8::1]']) {
      expect(await warningsFor(`http://${host}/money`, 'http://other.example', `http://${host}`)).toBe(
        `BillfoldWarning http://${host} is not encrypted, so others can read the client secret on the way. Use https.`,
      )
    }
  })

  test('the installed package works from Bun, by its sources', async () => {
    await Bun.write(
      join(project, 'use-bun.ts'),
      `import { Billfold } from '@billfold/sdk/server'
       import { mountWallet } from '@billfold/sdk/browser'
       import { ERROR_CODES } from '@billfold/sdk/contract'
       console.log(Billfold.name, typeof mountWallet, import.meta.resolve('@billfold/sdk/server').endsWith('/server.ts'))
       if (ERROR_CODES.length < 20) throw new Error('codes are missing')`,
    )
    expect((await run([join(bin, 'bun'), 'use-bun.ts'], project)).trim()).toBe('Billfold function true')
  })

  test('the installed package has every file that its exports name, and no other file of the repository', async () => {
    const manifest = (await Bun.file(join(project, 'node_modules/@billfold/sdk/package.json')).json()) as {
      exports: object
      dependencies?: object
    }
    const targets = JSON.stringify(manifest.exports).match(/\.\/[^"]+\.(?:ts|cts|cjs|js)\b/g) ?? []
    expect(targets.length).toBeGreaterThan(12)
    for (const target of targets) expect(packed).toContain(target.slice(2))
    expect(packed.filter((path) => /test|build\.ts|tarball|types\/|tsconfig/.test(path))).toEqual([])
    for (const name of ['README.md', 'LICENSE']) expect(packed).toContain(name)
    expect(manifest.dependencies).toBeUndefined()
  })

  test('what the service packs is what npm packs, byte for byte', async () => {
    const served = await buildPackage()
    expect([...served.keys()].sort()).toEqual([...packed].sort())
    for (const [path, bytes] of served) {
      const published = await Bun.file(join(project, 'node_modules/@billfold/sdk', path)).bytes()
      expect([path, Buffer.from(published).equals(bytes)]).toEqual([path, true])
    }
  })

  test.each([
    ['an ES module', 'consumer.mts', 'NodeNext'],
    ['CommonJS', 'consumer.cts', 'NodeNext'],
    ['a bundler', 'bundled.ts', 'Bundler'],
  ])('the installed package has types for %s', async (_name, file, resolution) => {
    await Bun.write(join(project, file), consumer)
    const module = resolution === 'NodeNext' ? 'NodeNext' : 'ESNext'
    const options = ['--noEmit', '--strict', '--target', 'ES2022', '--lib', 'ES2022,DOM', '--types', '']
    await run([join(bin, 'tsc'), ...options, '--module', module, '--moduleResolution', resolution, file], project)
  })

  test('the installed package has types that refuse a wrong use', async () => {
    await Bun.write(join(project, 'wrong.mts'), consumer.replace("type: 'SERVICE_RESIZE'", "type: 'SERVICE_RESIZED'"))
    const options = ['--noEmit', '--strict', '--target', 'ES2022', '--lib', 'ES2022,DOM', '--types', '']
    const check = run([join(bin, 'tsc'), ...options, '--module', 'NodeNext', 'wrong.mts'], project)
    const complaint: unknown = await check.catch((error: unknown) => error)
    expect(String(complaint)).toContain('SERVICE_RESIZED')
  })
})

test('the build for a script tag is at most 5 kB compressed', async () => {
  const script = await Bun.file(join(project, 'node_modules/@billfold/sdk/dist/billfold.js')).bytes()
  expect(Bun.gzipSync(script).byteLength).toBeLessThanOrEqual(maxScriptBytes)
  expect(script.byteLength).toBeGreaterThan(1000)
})

test('the browser build, bundled by a page, is at most 5 kB compressed', async () => {
  await Bun.write(
    join(project, 'page.js'),
    `import { mountWallet, defineWalletElement } from '@billfold/sdk/browser'
     defineWalletElement()
     window.mountWallet = mountWallet`,
  )
  const built = await Bun.build({ entrypoints: [join(project, 'page.js')], target: 'browser', minify: true })
  const [output] = built.outputs
  const bytes = new Uint8Array(await output!.arrayBuffer())
  expect(Bun.gzipSync(bytes).byteLength).toBeLessThanOrEqual(maxScriptBytes)
})

const consumer = `
import { Billfold, BillfoldError, type PostingResult } from '@billfold/sdk/server'
import { mountWallet, WalletError, type WalletHandle } from '@billfold/sdk/browser'
import { ERROR_MEANINGS, type ErrorCode, type Transaction, type WidgetMessage } from '@billfold/sdk/contract'

const billfold = new Billfold({ baseUrl: 'https://wallet.example', clientId: 'app', clientSecret: 'secret' })
export async function pay(serviceUserId: string | undefined): Promise<PostingResult | number> {
  try {
    return await billfold.debit({ serviceUserId, amount: 1, referenceType: 'ORDER', referenceId: '1' })
  } catch (error) {
    if (error instanceof BillfoldError && error.code === 'INSUFFICIENT_BALANCE') return error.shortfall ?? 0
    throw error
  }
}
export const meaning = (code: ErrorCode): string => ERROR_MEANINGS[code]
export const resize: WidgetMessage = { type: 'SERVICE_RESIZE', version: 1, height: 3 }
export const newest = async (): Promise<Transaction | undefined> =>
  (await billfold.wallet({ serviceUserId: 'su_1' })).transactions[0]
export const handle = (element: Element): WalletHandle =>
  mountWallet(element, {
    baseUrl: 'https://wallet.example',
    clientId: 'app',
    fetchSession: async () => null,
    onLinked: async ({ linkCode }) => void (await billfold.verifyLink({ linkCode })),
    onError: (error: WalletError) => void error.code,
  })
`
