/** The only place that reads the environment. The secret goes from here to the SDK and nowhere else. */

export type ShopConfig = {
  readonly host: string
  readonly port: number
  /** Where the shop stores its users and orders. */
  readonly dataDir: string
  /** The currency of the prices. It must be the currency of the service. */
  readonly currency: string
  /** Secrets of the webhook endpoint: two while a rotation lasts, none without webhooks. */
  readonly webhookSecrets: readonly string[]
  readonly billfold: { readonly baseUrl: string; readonly clientId: string; readonly clientSecret: string }
}

export function parseShopConfig(environment: Readonly<Record<string, string | undefined>>): ShopConfig {
  const { BILLFOLD_URL, BILLFOLD_CLIENT_ID, BILLFOLD_CLIENT_SECRET } = environment
  if (!BILLFOLD_CLIENT_ID || !BILLFOLD_CLIENT_SECRET) throw new Error(missing)
  const port = Number(environment['PORT'] || 3001)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error('PORT must be a whole number from 0 to 65535.')
  return {
    host: environment['HOST'] || '127.0.0.1',
    port,
    dataDir: environment['DATA_DIR'] || './data',
    currency: environment['CURRENCY'] || 'USD',
    webhookSecrets: (environment['BILLFOLD_WEBHOOK_SECRET'] ?? '').split(',').filter(Boolean),
    billfold: {
      baseUrl: BILLFOLD_URL || 'http://127.0.0.1:3000',
      clientId: BILLFOLD_CLIENT_ID,
      clientSecret: BILLFOLD_CLIENT_SECRET,
    },
  }
}

const missing = `The shop needs BILLFOLD_CLIENT_ID and BILLFOLD_CLIENT_SECRET.
"npm start" creates an app for the shop and starts it. To start it by hand, create an app first:
  npx billfold app create --name "Example shop" --origin http://localhost:3001 --parent http://localhost:3001 --scope wallet:read --scope wallet:write`
