/**
 * The SDK that fits this service, from the service itself: an archive for npm and a script for a page. Both are built from the
 * sources beside it when first asked for, so they are never those of another version.
 */
import { createHash } from 'node:crypto'
import { buildPackage, buildScript, sdkVersion } from '../../sdk/build.ts'
import { packTarball } from '../../sdk/tarball.ts'
import { forEver, once, openToAll, sendAsset, toAsset, type Asset } from './assets.ts'
import { plainHeaders } from './headers.ts'
import type { WebApp } from './request-context.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The name stays while the content changes with the service, so a copy is asked about again soon. */
const briefly = 'public, max-age=300'

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
    if (file === 'billfold.js') return sendBriefly(request, asset.file, () => sendScript(asset, request, briefly))
    return file === asset.file ? sendScript(asset, request, forEver) : c.notFound()
  })
}

function sendScript(asset: Asset, request: Request, caching: string): Response {
  return sendAsset(asset, request, { ...openToAll, 'cache-control': caching })
}

function sendPackage(request: Request, { bytes, integrity }: { bytes: Bytes; integrity: string }): Response {
  const headers = { ...plainHeaders, ...openToAll, 'cache-control': briefly, 'content-type': 'application/gzip' }
  return sendBriefly(request, integrity, () => new Response(bytes, { headers }))
}

/** For whoever deploys a page and wants to write the present values into it. */
async function sendIndex(publicUrl: string): Promise<Response> {
  const addresses = await sdkAddresses(publicUrl)
  const body = { version: sdkVersion, ...addresses, packageIntegrity: (await getPackage()).integrity }
  return Response.json(body, { headers: { ...plainHeaders, ...openToAll } })
}

/** 304 to whoever has it already. Weak, because the bytes differ with the compression. */
function sendBriefly(request: Request, version: string, send: () => Response): Response {
  const etag = `W/"${version}"`
  const known = (request.headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim())
  const isKnown = known.includes(etag) || known.includes('*')
  const headers = { ...plainHeaders, ...openToAll, 'cache-control': briefly, etag }
  if (isKnown) return new Response(null, { status: 304, headers })
  const response = send()
  response.headers.set('etag', etag)
  return response
}

function integrityOf(algorithm: 'sha384' | 'sha512', bytes: Uint8Array): string {
  return `${algorithm}-${createHash(algorithm).update(bytes).digest('base64')}`
}
