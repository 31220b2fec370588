import assert from 'node:assert/strict';
import { parseNetwork } from '../../../src/base/networks.ts';
import { isAllowedAddress } from '../../../src/tools/safe-fetch/addresses.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { ToolError } from '../../../src/tools/tool.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';

/** Every way to write an address that must not be reached. `PORT` is the port of a real server on all interfaces. */
const REFUSED = [
  // loopback in all notations of the URL standard
  'http://127.0.0.1:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://127.1.:PORT/',
  'http://127.255.255.254:PORT/',
  'http://2130706433:PORT/',
  'http://017700000001:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7F.1:PORT/',
  'http://0x7f.0x0.0x0.0x1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://0177.0x0.0.01:PORT/',
  'http://127.0x0001:PORT/',
  'http://00000177.0.0.1:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://127%2e0%2e0%2e1:PORT/',
  'http://\uff11\uff12\uff17.\uff10.\uff10.\uff11:PORT/',
  'http://127\uff0e0\uff0e0\uff0e1:PORT/',
  'http://127。0。0。1:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://𝟏𝟐𝟕.𝟎.𝟎.𝟏:PORT/',
  'http://१२७.0.0.1:PORT/',
  'http:127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  'http:///127.0.0.1:PORT/',
  ' \thttp://127.0.0.1:PORT/\n',
  'ht\ntp://127.0.\n0.1:PORT/',
  'HTTP://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://LOCALHOST.:PORT/',
  'http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/',
  'http://anything.localhost:PORT/',
  'http://localhost.localdomain:PORT/',
  // this host
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://0x0:PORT/',
  'http://00.00.00.00:PORT/',
  'http://0.1.2.3:PORT/',
  'http://[::]:PORT/',
  'http://[0:0:0:0:0:0:0:0]:PORT/',
  // IPv6 loopback and IPv4 inside IPv6
  'http://[::1]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[0000::0001]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[::7f00:1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[::FFFF:7F00:0001]:PORT/',
  'http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/',
  'http://[::ffff:0:127.0.0.1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[64:ff9b:1::7f00:1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2001:0:7f00:1::]:PORT/',
  'http://[fe80::1]:PORT/',
  'http://[fe80::1%25lo]:PORT/',
  'http://[febf::1]:PORT/',
  'http://[fec0::1]:PORT/',
  'http://[fc00::1]:PORT/',
  'http://[fd12:3456:789a::1]:PORT/',
  'http://[ff02::1]:PORT/',
  'http://[100::1]:PORT/',
  'http://[2001:db8::1]:PORT/',
  'http://[5f00::1]:PORT/',
  'http://[4000::1]:PORT/',
  // private, shared, reserved, multicast
  'http://10.0.0.1:PORT/',
  'http://10.1:PORT/',
  'http://012.0.0.1:PORT/',
  'http://0xa000001:PORT/',
  'http://167772161:PORT/',
  'http://172.16.0.1:PORT/',
  'http://172.31.255.255:PORT/',
  'http://192.168.1.1:PORT/',
  'http://192.168.257:PORT/',
  'http://3232235777:PORT/',
  'http://100.64.0.1:PORT/',
  'http://100.127.255.255:PORT/',
  'http://192.0.0.1:PORT/',
  'http://198.18.0.1:PORT/',
  'http://203.0.113.7:PORT/',
  'http://224.0.0.1:PORT/',
  'http://240.0.0.1:PORT/',
  'http://255.255.255.255:PORT/',
  // metadata services
  'http://169.254.169.254/latest/meta-data/',
  'http://2852039166/latest/meta-data/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[fd00:ec2::254]/',
  'http://168.63.129.16/machine?comp=goalstate',
  'http://2822734096/',
  'http://[fd20:ce::254]/',
  'http://[fd00:ec2::23]/v1/credentials',
  'http://[fd00:42::42]/',
  'http://[fd00:a9fe:a9fe::1]/',
  'http://192.0.0.192/',
  'http://100.100.100.200/',
  'http://metadata.google.internal/',
  'http://instance-data.ec2.internal/',
  'http://printer.local/',
  // other schemes, and forms that parsers read differently
  'https://127.0.0.1:PORT/',
  'ftp://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/',
  'data:text/plain,hello',
  'blob:http://127.0.0.1:PORT/1',
  'javascript:fetch(1)',
  'http://user@127.0.0.1:PORT/',
  'http://example.com@127.0.0.1:PORT/',
  'http://user:pass@127.0.0.1:PORT/',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
];

const REFUSALS = new Set(['blocked_address', 'blocked_host', 'invalid_url']);

describe('safe fetch: addresses', () => {
  let server: WebServer;
  let sixth: WebServer | undefined;
  let safe: SafeFetch;

  before(async () => {
    server = await startWebServer((_request, response) => response.end('secret'), '0.0.0.0');
    sixth = await startWebServer((_request, response) => response.end('secret'), '::1').catch(() => undefined);
    safe = createSafeFetch({ timeouts: { connectMs: 2000 } });
  });
  after(async () => {
    await safe[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await sixth?.[Symbol.asyncDispose]();
  });

  it('has a test server that would answer', async () => {
    await using open = createSafeFetch({ allowPrivateAddresses: true });
    assert.equal(await (await open.fetch(`http://127.1:${server.port}/`)).text(), 'secret');
  });

  for (const notation of REFUSED) {
    it(`does not connect to ${JSON.stringify(notation)}`, async () => {
      const port = notation.includes('[') && sixth ? sixth.port : server.port;
      const before = server.connections() + (sixth?.connections() ?? 0);
      await assert.rejects(
        safe.fetch(notation.replace('PORT', String(port))),
        (error) => error instanceof ToolError && REFUSALS.has(error.code),
      );
      assert.equal(server.connections() + (sixth?.connections() ?? 0), before);
    });
  }

  it('covers at least sixty notations', () => {
    assert.ok(new Set(REFUSED).size >= 60);
  });

  it('blocks metadata and unspecified addresses whatever is allowed', async () => {
    const everything = ['0.0.0.0/0', '::/0'];
    const metadata = [
      '169.254.169.254',
      '[fd00:ec2::254]',
      '[fd00:ec2::23]',
      '168.63.129.16',
      '[fd20:ce::254]',
      '[fd20:ce:0:0:0::254]',
      '100.100.100.200',
      '[fd00:42::42]',
      '[fd00:a9fe:a9fe::1]',
      '[::ffff:168.63.129.16]',
    ];
    await using open = createSafeFetch({ allowPrivateAddresses: true });
    for (const host of [...metadata, '0.0.0.0', '[fe80::1]']) {
      await assert.rejects(open.fetch(`http://${host}/`), { code: 'blocked_address' }, host);
    }
    assert.ok(isAllowedAddress('fd00:1::1', { allowPrivate: true, allowed: [] }));
    for (const host of metadata.slice(1, -1)) {
      const rule = { allowPrivate: true, allowed: everything.map(parseNetwork) };
      assert.ok(!isAllowedAddress(host.replace(/[[\]]/g, ''), rule), host);
    }
  });

  it('opens one network without opening others', async () => {
    await using partly = createSafeFetch({ allowAddresses: ['127.0.0.1'] });
    assert.equal(await (await partly.fetch(`http://127.0.0.1:${server.port}/`)).text(), 'secret');
    await assert.rejects(partly.fetch(`http://127.0.0.2:${server.port}/`), { code: 'blocked_address' });
    await assert.rejects(partly.fetch(`http://10.0.0.1:${server.port}/`), { code: 'blocked_address' });
  });

  it('refuses hosts on the deny list and, with an allow list, all others', async () => {
    await using denied = createSafeFetch({ allowPrivateAddresses: true, denyHosts: ['127.0.0.1', '*.evil.test'] });
    await assert.rejects(denied.fetch(`http://0x7f.1:${server.port}/`), { code: 'blocked_host' });
    await assert.rejects(denied.fetch('http://deep.evil.test./'), { code: 'blocked_host' });
    await using listed = createSafeFetch({ allowPrivateAddresses: true, allowHosts: ['example.org'] });
    await assert.rejects(listed.fetch(`http://127.0.0.1:${server.port}/`), { code: 'blocked_host' });
    await assert.rejects(listed.fetch('http://notexample.org/'), { code: 'blocked_host' });
  });
});
