/**
 * Node's HTTP module without an `import`, which would read every export of it: reading `WebSocket` loads Node's own
 * undici, which costs some 25 ms at the start.
 */
export const {
  Agent: HttpAgent,
  createServer,
  IncomingMessage,
  request: httpRequest,
  ServerResponse,
  STATUS_CODES,
} = process.getBuiltinModule('node:http');
