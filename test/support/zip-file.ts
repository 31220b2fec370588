import { crc32, deflateRawSync } from 'node:zlib';

/** A part of a ZIP file. */
export interface ZipPart {
  name: string;
  data: Uint8Array | string;
  /** Left as it is, as `mimetype` must be. */
  stored?: boolean;
  /** What the file claims that the part unpacks to, in bytes; absent: the truth. */
  claimed?: number;
}

/** A ZIP file of these parts, in their order. */
export function zipOf(parts: readonly ZipPart[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data, stored, claimed } of parts) {
    const bytes = Buffer.from(data);
    const packed = stored ? bytes : deflateRawSync(bytes, { level: 1 });
    const title = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(stored ? 0 : 8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimed ?? bytes.length, 18);
    common.writeUInt16LE(title.length, 22);
    files.push(Buffer.from('PK\x03\x04', 'latin1'), common, title, packed);
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 0, 'latin1');
    entry.writeUInt16LE(20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, title);
    offset += 30 + title.length + packed.length;
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
