/**
 * Serves the SDK of this service: an archive for npm and a script for pages. Both are built from the sources of this version on
 * first use, so they always match the service.
 */
import { createHash } from 'node:crypto'
import { buildPackage, buildScript, sdkVersion } from '../../sdk/build.ts'
import { packTarball } from '../../sdk/tarball.ts'
import { cacheForever, once, publicHeaders, sendAsset, toAsset, type Asset } from './assets.ts'
import { plainHeaders } from './headers.ts'
import type { WebApp } from './request-context.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** Cached only briefly: the content under this name changes with the version of the service. */
const cacheBriefly = 'public, max-age=300'

const getScript = once(async () => {
  const bytes: Bytes = new Uint8Array(await buildScript())
  return { asset: toAsset('billfold.js', bytes), integrity: integrityOf('sha384', bytes) }
})

const getPackage = once(async () => {
  const bytes = packTarball(await buildPackage())
  return { bytes, integrity: integrityOf('sha512', bytes) }
})

export async function sdkAddresses(publicUrl: string) {
  const { asset, integrity } = await getScript()
  const src = `${publicUrl}/sdk/${asset.file}`
  return {
    package: `${publicUrl}/sdk/billfold-sdk.tgz`,
    script: `${publicUrl}/sdk/billfold.js`,
    pinned: {
      src,
      integrity,
      tag: `<script src="${src}" integrity="${integrity}" crossorigin="anonymous"></script>`,
    },
  }
}

export function sdkRoute(web: WebApp, publicUrl: string): void {
  web.get('/sdk/:file', async (c) => {
    c.env.route = '/sdk/:file'
    const file = c.req.param('file')
    const request = c.req.raw
    if (file === 'billfold-sdk.tgz') return sendPackage(request, await getPackage())
    if (file === 'index.json') return await sendIndex(publicUrl)
    const { asset } = await getScript()
    if (file === 'billfold.js') return sendBriefly(request, asset.file, () => sendScript(asset, request, cacheBriefly))
    return file === asset.file ? sendScript(asset, request, cacheForever) : c.notFound()
  })
}

function sendScript(asset: Asset, request: Request, caching: string): Response {
  return sendAsset(asset, request, { ...publicHeaders, 'cache-control': caching })
}

function sendPackage(request: Request, { bytes, integrity }: { bytes: Bytes; integrity: string }): Response {
  const headers = {
    ...plainHeaders,
    ...publicHeaders,
    'cache-control': cacheBriefly,
    'content-type': 'application/gzip',
  }
  return sendBriefly(request, integrity, () => new Response(bytes, { headers }))
}

/** The current addresses and integrity values, for deployments that pin them. */
async function sendIndex(publicUrl: string): Promise<Response> {
  const addresses = await sdkAddresses(publicUrl)
  const body = { version: sdkVersion, ...addresses, packageIntegrity: (await getPackage()).integrity }
  return Response.json(body, { headers: { ...plainHeaders, ...publicHeaders } })
}

/** Answers 304 if the caller has this version. The ETag is weak, because the bytes differ with the compression. */
function sendBriefly(request: Request, version: string, send: () => Response): Response {
  const etag = `W/"${version}"`
  const known = (request.headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  const isKnown = known.includes(`"${version}"`) || known.includes('*')
  const headers = { ...plainHeaders, ...publicHeaders, 'cache-control': cacheBriefly, vary: 'accept-encoding', etag }
  if (isKnown) return new Response(null, { status: 304, headers })
  const response = send()
  response.headers.set('etag', etag)
  response.headers.set('vary', 'accept-encoding')
  return response
}

function integrityOf(algorithm: 'sha384' | 'sha512', bytes: Uint8Array): string {
  return `${algorithm}-${createHash(algorithm).update(bytes).digest('base64')}`
}
