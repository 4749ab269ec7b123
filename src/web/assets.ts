/**
 * Stylesheets and scripts: built once per process on first use, named by content hash, cached for ever by browsers, and stored
 * compressed. The same sources give the same names in every process.
 */
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { plainHeaders } from './headers.ts'
import type { WebApp } from './request-context.ts'

/** To add an asset, add a line; the bundler follows its imports. */
const styles = {
  'style.css': './style.css',
  'widget.css': '../widget/widget.css',
  'paper.css': '../widget/paper.css',
  'admin.css': '../admin/kit/admin.css',
} as const

/**
 * Scripts are ES modules, built together: code that two of them import becomes a shared file. A view that few users open is a
 * separate script, which the page imports on demand.
 */
const scripts = {
  'wallet.js': '../widget/client/wallet-page.tsx',
  'topup.js': '../widget/client/topup-page.tsx',
  'account.js': '../widget/client/account/account.tsx',
  'activity.js': '../widget/client/activity/activity.tsx',
  'prove.js': '../widget/client/prove.tsx',
  'paper.js': '../widget/client/paper-page.ts',
  'admin.js': '../admin/kit/enhance.ts',
} as const

type StyleName = keyof typeof styles
export type ScriptName = keyof typeof scripts

export type Asset = {
  /** The file name with the content hash. */
  readonly file: string
  readonly type: string
  readonly bytes: { readonly identity: Bytes; readonly gzip: Bytes; readonly br: Bytes }
}

type Bytes = Uint8Array<ArrayBuffer>

/** Assets by name without hash. Scripts are separate, because the name of one depends on the names of its imports. */
const getters = new Map<string, () => Promise<Asset>>(
  Object.entries(styles).map(([name, source]) => [name, once(() => buildStyle(name, source))]),
)

/** Adds text of another folder as an asset, built on first use. Returns a function that gives its address. */
export function provideAsset(name: string, text: () => string): () => Promise<string> {
  const get = once(async () => toAsset(name, new TextEncoder().encode(text())))
  getters.set(name, get)
  return async () => `/assets/${(await get()).file}`
}

export async function styleUrl(name: StyleName): Promise<string> {
  return `/assets/${(await getters.get(name)!()).file}`
}

/** The addresses of a script and its imports, with the script last, so that the browser loads them in parallel. */
export async function scriptUrls(name: ScriptName): Promise<string[]> {
  return (await filesOf(name)).map((file) => `/assets/${file}`)
}

async function filesOf(name: ScriptName): Promise<string[]> {
  const { entries, assets } = await getScripts()
  const found: string[] = []
  const walk = (file: string): void => {
    if (found.includes(file)) return
    for (const imported of assets.get(file)!.imports) walk(imported)
    found.push(file)
  }
  walk(entries.get(name)!)
  return found
}

export function assetRoute(web: WebApp): void {
  web.get('/assets/:file', async (c) => {
    c.env.route = '/assets/:file'
    const asset = await findAsset(c.req.param('file'))
    return asset ? sendAsset(asset, c.req.raw, { 'cache-control': cacheForever }) : c.notFound()
  })
}

/**
 * Any page may load these files: `integrity` in a script tag needs CORS, and our own page in a sandbox without allow-same-origin
 * has an opaque origin.
 */
export const publicHeaders = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' }

export const cacheForever = 'public, max-age=31536000, immutable'

export function sendAsset({ bytes, type }: Asset, request: Request, headers: Record<string, string>): Response {
  const encoding = chooseEncoding(request.headers.get('accept-encoding') ?? '')
  return new Response(bytes[encoding], {
    headers: {
      ...plainHeaders,
      ...publicHeaders,
      'content-type': type,
      vary: 'accept-encoding',
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
      ...headers,
    },
  })
}

async function findAsset(file: string): Promise<Asset | undefined> {
  const name = file.replace(/\.[0-9a-f]{16}(?=\.\w+$)/, '')
  const asset = await getters.get(name)?.()
  if (asset) return asset.file === file ? asset : undefined
  return file.endsWith('.js') ? (await getScripts()).assets.get(file) : undefined
}

/** Prefers Brotli, which is a fifth smaller than gzip here. */
export function chooseEncoding(accepted: string): 'br' | 'gzip' | 'identity' {
  const offers = accepted.split(',').map((offer) => offer.trim().toLowerCase())
  const isOffered = (name: string) => offers.some((offer) => offer === name || offer.startsWith(`${name};q=0.`))
  if (isOffered('br')) return 'br'
  return isOffered('gzip') ? 'gzip' : 'identity'
}

/** Builds on the first call and shares the result. After a failure the next call builds again. */
export function once<T>(build: () => Promise<T>): () => Promise<T> {
  let built: Promise<T> | undefined
  return () => {
    if (!built) {
      built = build()
      built.catch(() => (built = undefined))
    }
    return built
  }
}

const settings = {
  target: 'browser',
  minify: true,
  sourcemap: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  jsx: { runtime: 'automatic', importSource: 'preact', development: false },
} as const

const pathOf = (source: string) => fileURLToPath(new URL(source, import.meta.url))

async function buildStyle(name: string, source: string): Promise<Asset> {
  const { outputs } = await Bun.build({ ...settings, entrypoints: [pathOf(source)] })
  return toAsset(name, new Uint8Array(await outputs[0]!.arrayBuffer()))
}

type Script = Asset & { readonly imports: readonly string[] }

const getScripts = once(async () => {
  const { outputs } = await Bun.build({
    ...settings,
    entrypoints: Object.values(scripts).map(pathOf),
    format: 'esm',
    splitting: true,
    naming: { entry: '[name].js', chunk: 'shared.[hash].js' },
  })
  const texts = new Map<string, string>()
  for (const output of outputs) texts.set(basename(output.path), await output.text())
  const built = nameByContent(texts)
  const entryOf = (source: string) => built.get(basename(source).replace(/\.tsx?$/, '.js'))!
  return {
    entries: new Map(Object.entries(scripts).map(([name, source]) => [name, entryOf(source).file])),
    assets: new Map([...built.values()].map((script) => [script.file, script])),
  }
})

/**
 * Names files by content, because the bundler's own hash depends on the working directory. A file contains the names of its imports,
 * so these are named first. There are no import cycles, because shared files never import an entry script.
 */
function nameByContent(texts: ReadonlyMap<string, string>): Map<string, Script> {
  const named = new Map<string, Script>()
  const transpiler = new Bun.Transpiler({ loader: 'js' })
  const name = (file: string): Script => {
    const known = named.get(file)
    if (known) return known
    let text = texts.get(file)!
    const imports = transpiler.scanImports(text).map(({ path }) => basename(path))
    for (const imported of imports) text = text.replaceAll(`"./${imported}"`, `"./${name(imported).file}"`)
    const asset = toAsset(file.replace(/^shared\..*/, 'shared.js'), new TextEncoder().encode(text))
    const script = { ...asset, imports: imports.map((imported) => name(imported).file) }
    named.set(file, script)
    return script
  }
  for (const file of texts.keys()) name(file)
  return named
}

const types = { css: 'text/css', js: 'text/javascript', json: 'application/json' }

export function toAsset(name: string, identity: Bytes): Asset {
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 16)
  return {
    file: name.replace(/(?=\.\w+$)/, `.${hash}`),
    type: `${types[name.split('.').at(-1) as keyof typeof types]}; charset=utf-8`,
    bytes: {
      identity,
      gzip: new Uint8Array(gzipSync(identity, { level: 9 })),
      br: new Uint8Array(brotliCompressSync(identity)),
    },
  }
}
