import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A client that sends and fetches files of 100 MB without end, each transfer at most 25 MB a second. Arguments: the
 * address with `/v1`, the key, and how many transfers run at a time each way.
 */
const [, , url = '', key = '', width = '4'] = process.argv;
const MEGABYTE = Buffer.alloc(1024 * 1024, 'abcdefghijklmnopqrstuvwxyz012345');
const SIZE = 100;
const PAUSE_MS = 40;
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' };

async function upload(): Promise<void> {
  const sent = request(`${url}/files`, { method: 'POST', headers });
  const answered = once(sent, 'response');
  for (let n = 0; n < SIZE; n += 1) {
    if (!sent.write(MEGABYTE)) await once(sent, 'drain');
    await delay(PAUSE_MS);
  }
  sent.end();
  const [response] = await answered;
  const { size } = JSON.parse(Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString());
  if (size !== SIZE * MEGABYTE.length) throw new Error(`${size} bytes arrived`);
}

async function download(): Promise<void> {
  const sent = request(`${url}/files/size/${SIZE}`, { headers });
  sent.end();
  const [response] = await once(sent, 'response');
  let size = 0;
  let due = MEGABYTE.length;
  for await (const chunk of response) {
    size += chunk.length;
    if (size < due) continue;
    due += MEGABYTE.length;
    await delay(PAUSE_MS);
  }
  if (size !== SIZE * MEGABYTE.length) throw new Error(`${size} bytes came`);
}

process.on('SIGTERM', () => process.exit(0));
console.log(url);
for (let n = 0; n < Number(width); n += 1) {
  for (const transfer of [upload, download]) {
    void (async () => {
      for (;;) await transfer();
    })();
  }
}
