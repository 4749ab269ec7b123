/** A real identity provider, with its own sign-in pages: any name and password. The name decides the groups. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** On another site than the service: `localhost` in place of 127.0.0.1. */
export async function startOidcProvider(client: { id: string; secret?: string; redirectUri: string }) {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        redirect_uris: [client.redirectUri],
        // Plain http to this machine is for native clients alone.
        application_type: 'native',
        ...(client.secret === undefined
          ? { token_endpoint_auth_method: 'none' }
          : { client_secret: client.secret, token_endpoint_auth_method: 'client_secret_basic' }),
      },
    ],
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
    // As most providers do: in the ID token, not only at userinfo.
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        name: id,
        email: `${id}@acme.example`,
        email_verified: true,
        groups: id.startsWith('admin') ? ['wallet-admins'] : ['staff'],
      }),
    }),
    cookies: { keys: ['a key of the test'] },
  })
  const answer = provider.callback()
  server.on('request', (request, response) => void answer(request, response))
  return {
    issuer,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
