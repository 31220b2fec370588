import { createSocket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';

/** A question: the name in lower case, and whether it asks for IPv4 or IPv6 addresses. */
export interface DnsQuestion {
  name: string;
  type: 'A' | 'AAAA';
}

export interface DnsServer extends AsyncDisposable {
  /** Asks this server for all addresses of a name. */
  resolve(hostname: string): Promise<LookupAddress[]>;
  readonly questions: DnsQuestion[];
}

/**
 * Starts a real DNS server over UDP on loopback. `answer` returns the current addresses of a name (dotted IPv4 for `A`,
 * eight groups of hexadecimal for `AAAA`), or none if the name has no such address. Answers have TTL 0.
 */
export async function startDnsServer(answer: (question: DnsQuestion) => readonly string[]): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const questions: DnsQuestion[] = [];
  socket.on('message', (query, from) => {
    const { name, typeCode, end } = readQuestion(query);
    const question: DnsQuestion = { name, type: typeCode === 28 ? 'AAAA' : 'A' };
    questions.push(question);
    const records = answer(question).map((address) => record(typeCode, address));
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    resolve: resolveWith(`127.0.0.1:${socket.address().port}`),
    questions,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), typeCode: query.readUInt16BE(at + 1), end: at + 5 };
}

/** A resource record whose name points back at the question (RFC 1035, 4.1.4). */
function record(typeCode: number, address: string): Buffer {
  const data =
    typeCode === 28
      ? Buffer.from(
          address
            .split(':')
            .map((group) => group.padStart(4, '0'))
            .join(''),
          'hex',
        )
      : Buffer.from(address.split('.').map(Number));
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(typeCode, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function resolveWith(server: string): DnsServer['resolve'] {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  resolver.setServers([server]);
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
    const found: LookupAddress[] = [];
    if (v4.status === 'fulfilled') found.push(...v4.value.map((address) => ({ address, family: 4 })));
    if (v6.status === 'fulfilled') found.push(...v6.value.map((address) => ({ address, family: 6 })));
    return found;
  };
}
