/**
 * The log for everybody: its newest signed state, its key, and its hashes in tiles, as C2SP defines them (tlog-tiles). Hashes of leaves
 * say nothing about a wallet: each leaf has the salted name of one.
 */
import { z } from 'zod'
import { readLogKey, readNewestNote, readTile, type WantedTile } from '../../actions/proofs/read-log.ts'
import type { Service } from '../../actions/service.ts'
import { cacheForever, publicHeaders } from '../../web/assets.ts'
import { plainHeaders } from '../../web/headers.ts'
import type { WebApp } from '../../web/request-context.ts'
import { checkpointExample, logKeyExample } from '../examples.ts'
import { refuse } from '../reply.ts'
import { plainText, type Route } from '../route.ts'
import { alwaysErrors } from '../server.ts'

/** A new state comes every ten minutes, and when a proof is asked for. */
const briefly = { ...plainHeaders, 'content-type': plainText, 'cache-control': 'public, max-age=10' }

export function logRoutes(service: Service): Route[] {
  const route = (
    path: string,
    texts: Pick<Route, 'summary' | 'description' | 'example'>,
    read: (service: Service) => Promise<string | undefined>,
  ): Route => ({
    method: 'GET',
    path,
    tag: 'Operations',
    ...texts,
    output: z.string(),
    mediaType: plainText,
    errors: ['NOT_FOUND', ...alwaysErrors],
    handle: async () => {
      const text = await read(service)
      return text === undefined
        ? refuse('NOT_FOUND', { error: 'Nothing is sealed yet.' })
        : new Response(text, { headers: briefly })
    },
  })
  return [
    route(
      '/api/log/checkpoint',
      {
        summary: 'The newest signed state of the log',
        description:
          'A signed note (C2SP tlog-checkpoint). The hashes of the log are beside it, in tiles of 256: `/api/log/tile/<level>/<number>` (C2SP tlog-tiles).',
        example: { output: checkpointExample },
      },
      readNewestNote,
    ),
    route(
      '/api/log/key',
      {
        summary: 'The key that signs the log',
        description: 'One line: name, id and public key (C2SP signed-note). Keep it somewhere else than the proofs.',
        example: { output: logKeyExample },
      },
      async (reading) => {
        const key = await readLogKey(reading)
        return key && `${key}\n`
      },
    ),
  ]
}

/** Reads of tiles under way in this process. Each is one query of 256 rows. */
const maxReads = 8

export function tilePages(service: Service, web: WebApp): void {
  let reads = 0
  const headers = { ...plainHeaders, ...publicHeaders }
  web.get('/api/log/tile/:level/:path{.+}', async (c) => {
    c.env.route = '/api/log/tile/:level/:path'
    const tile = parseTile(c.req.param('level'), c.req.param('path'))
    if (!tile) return c.notFound()
    if (reads >= maxReads) return new Response(null, { status: 429, headers: { ...headers, 'retry-after': '1' } })
    reads++
    try {
      const bytes = await readTile(service, tile)
      const found = { ...headers, 'content-type': 'application/octet-stream', 'cache-control': cacheForever }
      return bytes ? new Response(bytes, { headers: found }) : c.notFound()
    } finally {
      reads--
    }
  })
}

/** Of `x001/x234/067.p/5`: tile 1,234,067, and of it the first five hashes. */
function parseTile(level: string, path: string): WantedTile | undefined {
  const [, groups, partial] = /^((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? []
  if (groups === undefined || !/^[0-7]$/.test(level) || groups.startsWith('x000')) return undefined
  const width = partial === undefined ? 256 : Number(partial)
  return width > 256 || (partial !== undefined && width === 256)
    ? undefined
    : { level: Number(level), number: Number(groups.replaceAll(/[x/]/g, '')), width }
}
