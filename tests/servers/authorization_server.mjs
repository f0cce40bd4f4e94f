// A real authorization server (npm oidc-provider) with one client; prints its issuer when it listens.
// usage: node authorization_server.mjs FOLDER-OF-NODE-MODULES CLIENT-ID CLIENT-SECRET
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [modules, id, secret] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));
let handle = (request, response) => response.end();
const server = createServer((request, response) => handle(request, response));
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: id,
        client_secret: secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['parts:read'],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (context, resource) => ({
          scope: 'parts:read',
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 3600,
        }),
      },
    },
  });
  handle = provider.callback();
  console.log(issuer);
});
// Who started it holds its input open.
process.stdin.on('end', () => process.exit()).resume();
