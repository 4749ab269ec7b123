/** `npm run example`: runs the shop. config.ts lists its environment variables. */
import { join, resolve } from 'node:path'
import { buildShop } from './app.ts'
import { parseShopConfig, type ShopConfig } from './config.ts'
import { openEvents } from './shop-events.ts'
import { openStore } from './store.ts'

const config = readConfig()
const built = await Bun.build({
  entrypoints: [join(import.meta.dir, 'browser/shop.ts')],
  target: 'browser',
  minify: true,
  conditions: ['bun'],
})
const store = openStore(resolve(config.dataDir, 'shop/shop.json'))
const events = openEvents(config, store)
const files = {
  script: await built.outputs[0]!.text(),
  style: await Bun.file(join(import.meta.dir, 'style.css')).text(),
}
const app = buildShop(config, store, files, events)
const server = Bun.serve({ hostname: config.host, port: config.port, idleTimeout: 60, fetch: app.fetch })

// `localhost`, because the service is at 127.0.0.1: to a browser these are different sites, as in production.
console.log(`example shop ready on http://localhost:${server.port}`)
void events.start()

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    void server.stop().then(() => process.exit())
  })
}

/** Prints a mistake in the settings without a stack trace. */
function readConfig(): ShopConfig {
  try {
    return parseShopConfig(process.env)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return process.exit(1)
  }
}
