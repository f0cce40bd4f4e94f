// A small server on the TypeScript SDK (npm @modelcontextprotocol/sdk 1.32) behind a real authorization server, which
// it starts: npm oidc-provider. Sessions and the guard are those of the SDK's example of Streamable HTTP.
// usage: node guarded_typescript_server.mjs PORT NODE_MODULES NODE_MODULES-OF-OIDC-PROVIDER; the client is that of
// MCP_CONFORM_CLIENT_ID and _SECRET.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [port, modules, ofProvider] = process.argv.slice(2);
const { MCP_CONFORM_CLIENT_ID: id, MCP_CONFORM_CLIENT_SECRET: secret } = process.env;
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const sdk = (path) => load(`@modelcontextprotocol/sdk/dist/esm/${path}`);
const { McpServer, ResourceTemplate } = await sdk('server/mcp.js');
const { StreamableHTTPServerTransport } = await sdk('server/streamableHttp.js');
const { createMcpExpressApp } = await sdk('server/express.js');
const { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } = await sdk('server/auth/router.js');
const { requireBearerAuth } = await sdk('server/auth/middleware/bearerAuth.js');
const { InvalidTokenError } = await sdk('server/auth/errors.js');
const { isInitializeRequest } = await sdk('types.js');
const { createRemoteJWKSet, errors, jwtVerify } = await load('jose/dist/webapi/index.js');
const { z } = await load('zod/index.js');

const STOCK = new Map([['bolt', 120], ['nut', 80]]);
const SCOPES = ['parts:read'];
const url = new URL(`http://127.0.0.1:${port}/mcp`);

function serverOfParts() {
  const server = new McpServer({ name: 'guarded-typescript-server', version: '1.0.0' });
  const text = (text) => ({ content: [{ type: 'text', text }] });
  const reads = { readOnlyHint: true };
  server.registerTool(
    'level',
    {
      description: 'How many of a part are there?',
      inputSchema: { part: z.string() },
      outputSchema: { part: z.string(), count: z.number().int() },
      annotations: { ...reads, title: 'Stock level' },
    },
    ({ part }) => {
      const level = { part, count: STOCK.get(part) ?? 0 };
      return { ...text(JSON.stringify(level)), structuredContent: level };
    },
  );
  server.registerTool('parts', { description: 'The names of all parts.', annotations: reads }, () =>
    text([...STOCK.keys()].sort().join('\n')),
  );
  server.registerTool(
    'put',
    { description: 'Put parts into the store.', inputSchema: { part: z.string(), count: z.number().int() } },
    ({ part, count }) => {
      STOCK.set(part, (STOCK.get(part) ?? 0) + count);
      return text(`${STOCK.get(part)} ${part}`);
    },
  );
  const plain = { mimeType: 'text/plain' };
  const read = (uri, text) => ({ contents: [{ uri: uri.href, ...plain, text }] });
  server.registerResource('stock', 'stock://all', { ...plain, description: 'Every part and its count.' }, (uri) =>
    read(uri, [...STOCK].map(([part, count]) => `${part} ${count}`).sort().join('\n')),
  );
  server.registerResource(
    'part_stock',
    new ResourceTemplate('stock://part/{part}', { list: undefined }),
    { ...plain, description: 'The count of one part.' },
    (uri, { part }) => read(uri, String(STOCK.get(part) ?? 0)),
  );
  server.registerPrompt(
    'order',
    { description: 'Ask for an order of a part.', argsSchema: { part: z.string(), count: z.string().optional() } },
    ({ part, count = '100' }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Write an order for ${count} pieces of ${part}.` } },
      ],
    }),
  );
  return server;
}

/** Keeps the events of one session in their order, for streams that are resumed. */
class Events {
  #kept = [];

  async storeEvent(stream, message) {
    return `${stream}/${this.#kept.push({ stream, message })}`;
  }

  async replayEventsAfter(last, { send }) {
    const stream = last.slice(0, last.lastIndexOf('/'));
    const after = Number(last.slice(last.lastIndexOf('/') + 1));
    if (this.#kept[after - 1]?.stream !== stream) throw new Error('no such event');
    for (const [place, event] of this.#kept.entries()) {
      if (place >= after && event.stream === stream) await send(`${stream}/${place + 1}`, event.message);
    }
    return stream;
  }
}

/** Starts the authorization server, which ends with us; returns its issuer. */
async function authorizationServer() {
  const script = fileURLToPath(new URL('authorization_server.mjs', import.meta.url));
  const stdio = ['pipe', 'pipe', 'inherit'];
  const provider = spawn(process.execPath, [script, ofProvider, id, secret], { stdio });
  for await (const line of createInterface({ input: provider.stdout })) return line.trim();
  throw new Error('the authorization server ended');
}

const issuer = await authorizationServer();
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));

async function verifyAccessToken(token) {
  try {
    const { payload } = await jwtVerify(token, keys, { issuer, typ: 'at+jwt' });
    return {
      token,
      clientId: payload.client_id,
      scopes: payload.scope ? payload.scope.split(' ') : [],
      expiresAt: payload.exp,
      // The middleware compares it with expectedResource.
      resource: URL.canParse(payload.aud) ? new URL(payload.aud) : undefined,
    };
  } catch (error) {
    // Anything else means that it could not be verified, of which the middleware makes a 500.
    if (error instanceof errors.JOSEError) throw new InvalidTokenError('The token is invalid');
    throw error;
  }
}

const guard = requireBearerAuth({
  verifier: { verifyAccessToken },
  requiredScopes: SCOPES,
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
  expectedResource: url,
});
const sessions = new Map();

function refuse(response, status, code, message) {
  response.status(status).json({ jsonrpc: '2.0', error: { code, message }, id: null });
}

async function handle(request, response) {
  const session = request.headers['mcp-session-id'];
  let transport = sessions.get(session);
  if (transport === undefined) {
    if (session) return refuse(response, 404, -32001, 'Session not found');
    if (request.method !== 'POST' || !isInitializeRequest(request.body))
      return refuse(response, 400, -32000, 'Bad Request: No valid session ID provided');
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: new Events(),
      onsessioninitialized: (opened) => sessions.set(opened, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await serverOfParts().connect(transport);
  }
  await transport.handleRequest(request, response, request.body);
}

const oauthMetadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const app = createMcpExpressApp();
app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: url, scopesSupported: SCOPES }));
for (const method of ['post', 'get', 'delete']) app[method](url.pathname, guard, handle);
app.listen(Number(port), '127.0.0.1');
