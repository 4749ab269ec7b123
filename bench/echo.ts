/** The least a JSON service can do on this runtime: the same router, the same bodies, no work. What a debit is held against. */
import { Hono } from 'hono'

const app = new Hono()
app.post('/api/server/wallet/debit', async (c) => c.json(await c.req.json<object>()))

const server = Bun.serve({ hostname: '127.0.0.1', port: Number(process.env['PORT']), fetch: app.fetch })
process.stdout.write(`echo ready on ${server.url.origin}\n`)
