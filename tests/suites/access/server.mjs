// An authorization server: oidc-provider, with resource indicators. It signs tokens (JWT) for every resource but those of
// OPAQUE, whose tokens only it can read. The client machine gets tokens for RESOURCE unless it names another. It listens at LISTEN,
// or at a free port, as ISSUER if it is behind a proxy. With REGISTRATION=off no client registers itself. It prints its issuer when it
// serves, and ends with its standard input, whose lines tell it what to do; it prints each when it is done:
//
//   lifetime N   access tokens last N seconds from now on
//   revoke       what users have granted is taken back
import { Provider } from 'oidc-provider'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

const [host, port] = (process.env.LISTEN ?? '127.0.0.1:0').split(':')
const server = createServer((request, response) => handle(request, response))
let handle
server.listen(Number(port), host, () => {
  const issuer = process.env.ISSUER ?? `http://${host}:${server.address().port}`
  let lifetime = 3600
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'edge', client_secret: 'the-edge-asks', grant_types: [], redirect_uris: [], response_types: [],
    }, {
      client_id: 'machine', client_secret: 'a-machine-calls', grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
    }, {
      client_id: 'mcp-client', application_type: 'native', token_endpoint_auth_method: 'none', // on any port of loopback
      grant_types: ['authorization_code', 'refresh_token'], redirect_uris: ['http://127.0.0.1/callback'],
    }],
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write'], // that clients may register with
    // Also without the scope offline_access, like most servers.
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    ttl: { AccessToken: () => lifetime, ClientCredentials: 3600, Grant: 3600, Session: 3600, Interaction: 3600, IdToken: 3600, RefreshToken: 3600 },
    features: {
      registration: { enabled: process.env.REGISTRATION !== 'off' },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true, allowedPolicy: () => true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        // For a client that names none, as the official Go SDK's does with its own credentials.
        defaultResource: (_, client) => client.clientId === 'machine' ? process.env.RESOURCE : undefined,
        getResourceServerInfo: (_, resource) => ({
          scope: 'mcp:read mcp:write', audience: resource, accessTokenTTL: lifetime,
          accessTokenFormat: process.env.OPAQUE && resource.startsWith(process.env.OPAQUE) ? 'opaque' : 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  })
  handle = provider.callback()
  const grants = new Set()
  provider.on('grant.saved', (grant) => grants.add(grant.jti))
  const commands = {
    lifetime: (seconds) => { lifetime = Number(seconds) },
    revoke: async () => {
      for (const id of grants) {
        await provider.AccessToken.revokeByGrantId(id)
        await provider.RefreshToken.revokeByGrantId(id)
        await (await provider.Grant.find(id))?.destroy()
      }
    },
  }
  createInterface(process.stdin).on('line', async (line) => {
    const [command, ...words] = line.split(' ')
    await commands[command](...words)
    console.log(line)
  }).on('close', () => process.exit(0))
  console.log(issuer)
})
