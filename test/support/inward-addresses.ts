/** Addresses that clients must not make the gateway call, each in all notations that URLs allow. */

const IPV4 = ['127.0.0.1', '0.0.0.0', '10.0.0.1', '169.254.169.254', '192.168.1.1', '172.16.0.1', '100.64.0.1'];
const IPV6 = ['[::1]', '[::]', '[fe80::1]', '[fd00:ec2::254]', '[fc00::1]', '[2002:7f00:1::]', '[::127.0.0.1]'];
const NAMES = ['localhost', 'LOCALHOST.', 'a.localhost', 'localhost.localdomain', 'ip6-localhost'];

/** Hosts of URLs that all resolve to addresses that are not public. */
export function inwardHosts(): string[] {
  return [...new Set([...IPV4.flatMap(notations), ...IPV6, ...NAMES, '127.1', '0', '①②⑦.⓪.⓪.①'])];
}

function notations(address: string): string[] {
  const bytes = address.split('.').map(Number);
  const whole = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const hex = (value: number) => `0x${value.toString(16)}`;
  const mapped = Buffer.from(bytes).toString('hex');
  return [
    address,
    `${address}.`,
    String(whole),
    hex(whole),
    bytes.map(hex).join('.'),
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    address.replace(/[0-9]/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    `[::ffff:${address}]`,
    `[::ffff:${mapped.slice(0, 4)}:${mapped.slice(4)}]`,
    `[64:ff9b::${mapped.slice(0, 4)}:${mapped.slice(4)}]`,
  ];
}
