/**
 * Stylesheets and scripts: built once per process on first use, named by content hash, cached for ever by browsers, and compressed
 * once, for the first browser that asks. The same sources give the same names in every process.
 */
import type { BunPlugin } from 'bun'
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { chooseEncoding } from './compress.ts'
import { plainHeaders } from './headers.ts'
import type { WebApp } from './request-context.ts'

/** To add an asset, add a line; the bundler follows its imports. */
const styles = {
  'style.css': './style.css',
  'widget.css': '../widget/widget.css',
  'later-views.css': '../widget/later-views.css',
  'activity.css': '../widget/activity.css',
  'pending.css': '../widget/pending.css',
  'topup.css': '../widget/topup.css',
  'pay.css': '../widget/pay.css',
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
  'pending.js': '../widget/client/pending/pending.tsx',
  'prove.js': '../widget/client/prove.tsx',
  'ended.js': '../widget/client/ended.tsx',
  'pay.js': '../widget/client/topup/pay.tsx',
  'paper.js': '../widget/client/paper-page.ts',
  'admin.js': '../admin/kit/enhance.ts',
} as const

export type StyleName = keyof typeof styles
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
  const name = file.replace(/\.[0-9a-f]{12}(?=\.\w+$)/, '')
  const asset = await getters.get(name)?.()
  if (asset) return asset.file === file ? asset : undefined
  return file.endsWith('.js') ? (await getScripts()).assets.get(file) : undefined
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

/**
 * Hides the distances from the start and end of a line from the bundler, which replaces each of them with six rules that list the
 * languages written from right to left: 7 kB of widget.css, and wrong where text in one of them is on a page from left to right.
 */
const keepInsets: BunPlugin = {
  name: 'keep insets',
  setup: (build) =>
    void build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const text = await Bun.file(path).text()
      return { contents: text.replace(/(?<![-\w])(?=inset-inline-(start|end):)/g, '--kept-'), loader: 'css' }
    }),
}

async function buildStyle(name: string, source: string): Promise<Asset> {
  const { outputs } = await Bun.build({ ...settings, entrypoints: [pathOf(source)], plugins: [keepInsets] })
  const text = await outputs[0]!.text()
  return toAsset(name, new TextEncoder().encode(text.replaceAll('--kept-', '')))
}

/** A script with everything it imports, and its stylesheet, as texts for a page that loads nothing. */
export function provideInline(script: string, style: string): () => Promise<{ script: string; style: string }> {
  return once(async () => {
    const { outputs } = await Bun.build({ ...settings, entrypoints: [pathOf(script)] })
    // The text of a script element ends at this, wherever it is.
    const text = (await outputs[0]!.text()).replaceAll('</script', '<\\/script')
    const { bytes } = await buildStyle('inline.css', style)
    return { script: text, style: new TextDecoder().decode(bytes.identity) }
  })
}

type Script = Asset & { readonly imports: readonly string[] }

/**
 * Has the views that load later import the page that is loaded before them. The bundler makes a file for each set of scripts that share
 * code; with this, the wallet page is three files instead of seven.
 */
const importPage: BunPlugin = {
  name: 'import the page',
  setup: (build) => {
    const addImports = (filter: RegExp, sources: readonly string[]) =>
      build.onLoad({ filter }, async ({ path }) => {
        const imports = sources.map((source) => `import ${JSON.stringify(pathOf(`../widget/client/${source}`))}\n`)
        return { contents: imports.join('') + (await Bun.file(path).text()), loader: 'tsx' }
      })
    addImports(/\/(account|activity|pending|prove)\.tsx$/, ['wallet-app.tsx', 'start.ts'])
    // Shown on the top-up page, which does not load the wallet page.
    addImports(/\/(ended|pay)\.tsx$/, inBothPages)
  },
}

/** With their imports, all the code that both pages share. */
const inBothPages = [
  'start.ts',
  'use-wallet-session.ts',
  'use-proof.ts',
  'load-view.tsx',
  'fields.tsx',
  'topup/need.tsx',
]

const getScripts = once(async () => {
  const { outputs } = await Bun.build({
    ...settings,
    entrypoints: Object.values(scripts).map(pathOf),
    format: 'esm',
    splitting: true,
    plugins: [importPage],
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
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 12)
  let gzip: Bytes | undefined
  let br: Bytes | undefined
  return {
    file: name.replace(/(?=\.\w+$)/, `.${hash}`),
    type: `${types[name.split('.').at(-1) as keyof typeof types]}; charset=utf-8`,
    bytes: {
      identity,
      // The best compression takes longer than the build, and most processes send few of these files.
      get gzip() {
        return (gzip ??= new Uint8Array(gzipSync(identity, { level: 9 })))
      },
      get br() {
        return (br ??= new Uint8Array(brotliCompressSync(identity)))
      },
    },
  }
}
