/**
 * Loaded before a server of these packages: lets it listen on loopback only, on a free port or LOOPBACK_PORT, whatever it asks for, and
 * tells the parent process which port that is.
 */
import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  this.once('listening', () => process.send?.({ port: this.address().port }));
  const callback = args.findLast((each) => typeof each === 'function');
  return listen.call(this, Number(process.env.LOOPBACK_PORT ?? 0), '127.0.0.1', callback);
};
