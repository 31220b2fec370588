import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import {
  clientAddress,
  isInNetworks,
  isNetwork,
  isProxyNetwork,
  parseAddress,
  parseNetwork,
} from '../../../src/base/networks.ts';

/** The client address of a request over this connection with this header. */
function from(remoteAddress: string | undefined, forwarded: string | undefined, trusted: string[]): string {
  const req = { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } };
  return String(clientAddress(req as unknown as IncomingMessage, trusted));
}

describe('clientAddress', () => {
  it('is the address of the connection if no proxy is trusted', () => {
    assert.equal(from('8.8.8.8', undefined, []), '8.8.8.8');
    assert.equal(from('8.8.8.8', '1.1.1.1', []), '8.8.8.8');
    assert.equal(from('::ffff:8.8.8.8', undefined, []), '8.8.8.8');
    assert.equal(from('fe80::1%eth0', undefined, []), 'fe80::1');
  });

  it('is the last address in X-Forwarded-For that is not a trusted proxy, else the first', () => {
    assert.equal(from('10.0.0.1', '1.1.1.1', ['10.0.0.0/8']), '1.1.1.1');
    assert.equal(from('10.0.0.1', '9.9.9.9, 1.1.1.1, 10.0.0.2', ['uniquelocal']), '1.1.1.1');
    assert.equal(from('127.0.0.1', '10.0.0.9', ['loopback', 'uniquelocal']), '10.0.0.9');
  });

  it('is read without the port and brackets that some proxies add', () => {
    assert.equal(from('127.0.0.1', '1.1.1.1:50234', ['loopback']), '1.1.1.1');
    assert.equal(from('127.0.0.1', '[2001:db8::7]:443', ['loopback']), '2001:db8::7');
    assert.equal(from('127.0.0.1', '[::ffff:1.1.1.1]', ['loopback']), '1.1.1.1');
    assert.equal(from('127.0.0.1', '2001:db8::7', ['loopback']), '2001:db8::7');
  });

  it('is undefined if neither the proxy nor the connection gives one', () => {
    assert.equal(from('127.0.0.1', 'unknown', ['loopback']), 'undefined');
    assert.equal(from(undefined, undefined, []), 'undefined');
  });
});

describe('a network', () => {
  const holds = (network: string, address: string) => {
    const parsed = parseAddress(address);
    return parsed !== undefined && isInNetworks(parsed, [parseNetwork(network)]);
  };

  it('of IPv4 addresses may be written in IPv6 notation', () => {
    assert.ok(holds('::ffff:10.0.0.0/104', '10.1.2.3'));
    assert.ok(!holds('::ffff:10.0.0.0/104', '11.1.2.3'));
    assert.ok(holds('::ffff:10.1.2.3', '10.1.2.3'));
    assert.ok(holds('2001:db8::/32', '2001:db8:1::1') && !holds('2001:db8::/32', '2001:db9::1'));
    assert.ok(holds('0.0.0.0/0', '8.8.8.8') && !holds('::/0', '8.8.8.8'));
  });

  it('of trusted proxies may be named, by no other word', () => {
    assert.deepEqual(['loopback', '10.0.0.0/8', 'constructor', 'somewhere'].map(isProxyNetwork), [
      true,
      true,
      false,
      false,
    ]);
  });

  it('must be written in full: short, hexadecimal and malformed forms are refused', () => {
    for (const text of [
      '10.1/16',
      '10/8',
      '0x0a.0.0.0/8',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      'fe80::%1/64',
      '::/129',
    ]) {
      assert.equal(isNetwork(text), false, text);
    }
  });
});
