/**
 * Node's HTTP, without an `import` of it: an import reads every export of a built-in module, and reading `WebSocket`
 * loads the undici that Node brings along, which costs a start some 25 ms.
 */
export const {
  Agent: HttpAgent,
  createServer,
  request: httpRequest,
  STATUS_CODES,
} = process.getBuiltinModule('node:http');
