/** `npm run example`: the shop as a process. See config.ts for what it reads from the environment. */
import { join, resolve } from 'node:path'
import { buildShop } from './app.ts'
import { parseShopConfig, type ShopConfig } from './config.ts'
import { openStore } from './store.ts'

const config = readConfig()
const built = await Bun.build({
  entrypoints: [join(import.meta.dir, 'browser/shop.ts')],
  target: 'browser',
  minify: true,
  conditions: ['bun'],
})
const app = buildShop(config, openStore(resolve(config.dataDir, 'shop/shop.json')), {
  script: await built.outputs[0]!.text(),
  style: await Bun.file(join(import.meta.dir, 'style.css')).text(),
})
const server = Bun.serve({ hostname: config.host, port: config.port, idleTimeout: 60, fetch: app.fetch })

// By name, not by number: the service is at 127.0.0.1, and to a browser the two are different sites, as in earnest.
console.log(`example shop ready on http://localhost:${server.port}`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    void server.stop().then(() => process.exit())
  })
}

/** A mistake in the settings is told in words, without the stack that would hide them. */
function readConfig(): ShopConfig {
  try {
    return parseShopConfig(process.env)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return process.exit(1)
  }
}
