import { Agent } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';

/** The bare stack: Express and http-proxy-middleware with a keep-alive agent in front of the provider, nothing else. */
const provider = new URL(String(process.argv[2]));
/** Where files are, if elsewhere. */
const files = new URL(process.argv[3] ?? provider);

const app = express();
app.disable('x-powered-by');
app.use(
  createProxyMiddleware({
    target: provider.origin,
    router: (req) => (req.url?.startsWith('/v1/files') ? files.origin : provider.origin),
    changeOrigin: true,
    agent: new Agent({ keepAlive: true, maxSockets: 256 }),
  }),
);
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}`);
});
process.on('SIGTERM', () => process.exit(0));
