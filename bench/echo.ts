/** The least work of a JSON service on this runtime: the same router, the same bodies, nothing else. The baseline of a debit. */
import { Hono } from 'hono'

const app = new Hono()
app.post('/api/server/wallet/debit', async (c) => c.json(await c.req.json<object>()))

const server = Bun.serve({ hostname: '127.0.0.1', port: Number(process.env['PORT']), fetch: app.fetch })
process.stdout.write(`echo ready on ${server.url.origin}\n`)
