import { crc32, deflateRawSync } from 'node:zlib';

/** The format version that a reader needs: 2.0, for compression. */
const VERSION = 20;
const DEFLATED = 8;
/** 1 January 1980, the first day of the format. A fixed date makes the bytes reproducible. */
const DAY = 0x21;

/** A ZIP file of these parts, in their order. Names are ASCII. */
export function zipFile(parts: readonly (readonly [name: string, content: string | Buffer])[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of parts) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const packed = deflateRawSync(bytes);
    const fields = header({ name, bytes, packed });
    files.push(Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name), packed);
    // The entry's comment, disk and attributes are empty.
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02', 'latin1'), uint16(VERSION), fields, rest, Buffer.from(name));
    offset += 4 + fields.length + name.length + packed.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, index, end]);
}

/** The header fields that a file has in front of it and in the directory. */
function header({ name, bytes, packed }: { name: string; bytes: Buffer; packed: Buffer }): Buffer {
  const header = Buffer.alloc(26);
  header.writeUInt16LE(VERSION, 0);
  header.writeUInt16LE(DEFLATED, 4);
  header.writeUInt16LE(DAY, 8);
  header.writeUInt32LE(crc32(bytes), 10);
  header.writeUInt32LE(packed.length, 14);
  header.writeUInt32LE(bytes.length, 18);
  header.writeUInt16LE(name.length, 22);
  return header;
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}
