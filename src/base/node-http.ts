/**
 * Node's HTTP, without an `import` of it: for one, Node reads every export of a built-in module, and that of
 * `WebSocket` loads the undici of Node's own, which costs a start some 25 ms.
 */
export const { Agent: HttpAgent, createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
