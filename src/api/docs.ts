/** The API documentation page. Swagger UI is served from this service, so the page works offline and loads nothing from other hosts. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { plainHeaders } from '../web/headers.ts'
import type { WebApp } from '../web/request-context.ts'

const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

const assets: Record<string, string> = {
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
  'favicon-32x32.png': 'image/png',
}

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Billfold API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<main id="api"></main>
<noscript>This page needs JavaScript. The description itself is at <a href="/api/openapi.json">/api/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`

const start = `SwaggerUIBundle({ url: '/api/openapi.json', dom_id: '#api', deepLinking: true, validatorUrl: null, supportedSubmitMethods: [], defaultModelsExpandDepth: -1 })\n`

// Swagger UI uses data: images and inline styles; nothing else needs an exception.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const send = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
  new Response(body, {
    headers: {
      ...plainHeaders,
      'content-security-policy': policy,
      'cross-origin-opener-policy': 'same-origin',
      'content-type': `${type}; charset=utf-8`,
    },
  })

export function docsPages(web: WebApp): void {
  web.get('/docs', (c) => {
    c.env.route = '/docs'
    return send(page, 'text/html')
  })
  web.get('/docs/:file', async (c) => {
    c.env.route = '/docs/:file'
    const file = c.req.param('file')
    if (file === 'start.js') return send(start, 'text/javascript')
    const type = Object.hasOwn(assets, file) ? assets[file] : undefined
    return type ? send(await readFile(join(folder, file)), type) : c.notFound()
  })
}
