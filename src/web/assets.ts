/**
 * What browsers load besides a page: built once per process when first asked for, named by its own hash and so cached for
 * ever, and kept compressed. The same sources give the same names in every process.
 */
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { plainHeaders } from './headers.ts'
import type { WebApp } from './request-context.ts'

/** Adding an asset is adding a line; the bundler follows what it imports. */
const sources = {
  'style.css': './style.css',
  'widget.css': '../widget/widget.css',
  'wallet.js': '../widget/client/wallet-page.tsx',
  'topup.js': '../widget/client/topup-page.tsx',
  'admin.css': '../admin/kit/admin.css',
  'admin.js': '../admin/kit/enhance.ts',
} as const satisfies Record<string, `${string}.css` | `${string}.ts` | `${string}.tsx`>

export type AssetName = keyof typeof sources

export type Asset = {
  /** The name with the hash of the content in it: what is behind it never changes. */
  readonly file: string
  readonly type: string
  readonly bytes: { readonly identity: Bytes; readonly gzip: Bytes; readonly br: Bytes }
}

type Bytes = Uint8Array<ArrayBuffer>

const getters = new Map<AssetName, () => Promise<Asset>>()

/** The address of an asset, to put into a page. */
export async function assetUrl(name: AssetName): Promise<string> {
  return `/assets/${(await getAsset(name)).file}`
}

/** How many bytes the asset costs the browser, compressed. */
export async function assetSize(name: AssetName): Promise<number> {
  return (await getAsset(name)).bytes.br.length
}

export function assetRoute(web: WebApp): void {
  web.get('/assets/:file', async (c) => {
    c.env.route = '/assets/:file'
    const asset = await findAsset(c.req.param('file'))
    return asset ? sendAsset(asset, c.req.raw, { 'cache-control': forEver }) : c.notFound()
  })
}

export const forEver = 'public, max-age=31536000, immutable'

export function sendAsset({ bytes, type }: Asset, request: Request, headers: Record<string, string>): Response {
  const encoding = chooseEncoding(request.headers.get('accept-encoding') ?? '')
  return new Response(bytes[encoding], {
    headers: {
      ...plainHeaders,
      'content-type': type,
      vary: 'accept-encoding',
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
      ...headers,
    },
  })
}

async function findAsset(file: string): Promise<Asset | undefined> {
  const name = file.replace(/\.[0-9a-f]{16}(?=\.\w+$)/, '')
  if (!Object.hasOwn(sources, name)) return undefined
  const asset = await getAsset(name as AssetName)
  return asset.file === file ? asset : undefined
}

/** Brotli is a fifth smaller than gzip here, and every browser that takes it says so. */
export function chooseEncoding(accepted: string): 'br' | 'gzip' | 'identity' {
  const offers = accepted.split(',').map((offer) => offer.trim().toLowerCase())
  const isOffered = (name: string) => offers.some((offer) => offer === name || offer.startsWith(`${name};q=0.`))
  if (isOffered('br')) return 'br'
  return isOffered('gzip') ? 'gzip' : 'identity'
}

function getAsset(name: AssetName): Promise<Asset> {
  let get = getters.get(name)
  if (!get) getters.set(name, (get = once(() => build(name))))
  return get()
}

/** Built at the first call. A build that failed is tried again by the next visitor instead of failing for ever. */
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

async function build(name: AssetName): Promise<Asset> {
  const result = await Bun.build({
    entrypoints: [fileURLToPath(new URL(sources[name], import.meta.url))],
    target: 'browser',
    format: 'iife',
    minify: true,
    sourcemap: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
  })
  return toAsset(name, new Uint8Array(await result.outputs[0]!.arrayBuffer()))
}

export function toAsset(name: string, identity: Bytes): Asset {
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 16)
  return {
    file: name.replace(/(?=\.\w+$)/, `.${hash}`),
    type: name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
    bytes: {
      identity,
      gzip: new Uint8Array(gzipSync(identity, { level: 9 })),
      br: new Uint8Array(brotliCompressSync(identity)),
    },
  }
}
