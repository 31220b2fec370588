import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { clientAddress } from '../../../src/base/networks.ts';

/** Where a request comes from whose connection and header are these. */
function from(remoteAddress: string | undefined, forwarded: string | undefined, trusted: string[]): string {
  const req = { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } };
  return String(clientAddress(req as unknown as IncomingMessage, trusted));
}

describe('the address of a client', () => {
  it('is that of its connection where no proxy is trusted', () => {
    assert.equal(from('8.8.8.8', undefined, []), '8.8.8.8');
    assert.equal(from('8.8.8.8', '1.1.1.1', []), '8.8.8.8');
    assert.equal(from('::ffff:8.8.8.8', undefined, []), '8.8.8.8');
    assert.equal(from('fe80::1%eth0', undefined, []), 'fe80::1');
  });

  it('is the last that a trusted proxy did not add itself', () => {
    assert.equal(from('10.0.0.1', '1.1.1.1', ['10.0.0.0/8']), '1.1.1.1');
    assert.equal(from('10.0.0.1', '9.9.9.9, 1.1.1.1, 10.0.0.2', ['uniquelocal']), '1.1.1.1');
    assert.equal(from('127.0.0.1', '10.0.0.9', ['loopback', 'uniquelocal']), '10.0.0.9');
  });

  it('is unknown where a trusted proxy tells none', () => {
    assert.equal(from('127.0.0.1', 'unknown', ['loopback']), 'undefined');
    assert.equal(from(undefined, undefined, []), 'undefined');
  });
});
