import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { parsePublicId } from '../../src/base/ids.ts';
import { isObject } from '../../src/base/json.ts';
import { assertRefused, ended, eventsIn, rawExchange, responseIn, send } from '../support/http-client.ts';
import { httpConfig, KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';
import { SocketClient } from '../support/socket-client.ts';

const PING_MS = 30_000;

const created = ({ type }: { type: string }) => type === 'response.created';

describe('the WebSocket at /v1/responses', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const idOf = (response: Record<string, unknown>) => String(response.id);
  const storedRun = (id: string) => gateway.storage.runs.get(parsePublicId('responses', id) ?? '');

  it("sends the same events as the response's stream, one response after the other", async () => {
    await using socket = await SocketClient.open(gateway);
    socket.create({ input: 'long 20', stream: true });
    const first = await socket.next(created);
    const last = await socket.next(({ type }) => type === 'response.completed');
    const sent = [first, ...socket.frames.splice(0), last];
    assert.ok(typeof last.response === 'object' && last.response !== null && 'id' in last.response);
    const replay = await send(gateway, `GET /v1/responses/${last.response.id}?stream=true`);
    assert.deepEqual(sent, eventsIn(replay));
    socket.create({ input: 'again' });
    assert.equal((await socket.end()).output_text, 'You said: again');
  });

  it('runs the responses of a stream_id one at a time, and streams in parallel', async () => {
    await using socket = await SocketClient.open(gateway);
    socket.create({ input: 'wait', stream_id: 'a' });
    await socket.next((frame) => created(frame) && frame.stream_id === 'a');
    socket.create({ input: 'later', stream_id: 'a' });
    socket.create({ input: 'beside', stream_id: 'b' });
    assert.equal((await socket.end('b')).output_text, 'You said: beside');
    assert.deepEqual(
      socket.frames.filter((frame) => created(frame) && frame.stream_id === 'a'),
      [],
    );
    await gateway.release();
    assert.equal((await socket.end('a')).output_text, 'You said: wait');
    assert.equal((await socket.end('a')).output_text, 'You said: later');
  });

  it('queues at most 16 responses a stream, and has at most 16 streams', async () => {
    await using socket = await SocketClient.open(gateway);
    socket.create({ input: 'wait' });
    await socket.next(created);
    for (let n = 0; n < 17; n++) socket.create({ input: `number ${n}`, generate: false });
    assert.deepEqual((await socket.error()).code, 'response_in_progress');
    for (let n = 0; n < 15; n++) socket.create({ input: 'wait', stream_id: `s${n}` });
    for (let n = 0; n < 15; n++) await socket.next(created);
    socket.create({ input: 'hello', stream_id: 's15' });
    const { stream_id } = await socket.next(({ type }) => type === 'error');
    assert.equal(stream_id, 's15');
    for (let n = 0; n < 16; n++) await gateway.release();
    for (let n = 0; n < 15; n++) await socket.end(`s${n}`);
    for (let n = 0; n < 17; n++) await socket.end();
  });

  it('disconnects a client that sends without reading', async () => {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port) }).pause();
    let isOver = false;
    socket
      .on('error', () => {})
      .on('close', () => {
        isOver = true;
      });
    const head = ['GET /v1/responses HTTP/1.1', 'host: x', 'connection: upgrade', 'upgrade: websocket'];
    head.push('sec-websocket-version: 13', 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==');
    socket.write(`${[...head, `authorization: Bearer ${KEYS.ann}`].join('\r\n')}\r\n\r\n`);
    // A thousand text frames of one character, not JSON, with a mask of zeros.
    const frames = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x7b])));
    // Frames are accepted until the gateway gives up on the client.
    while (!isOver) {
      await new Promise<void>((resolve) => socket.write(frames, () => resolve()));
      await setImmediate();
    }
  });

  it('answers invalid frames with an error that names the problem, and stays open', async () => {
    await using socket = await SocketClient.open(gateway);
    const refused = async (frame: string | Buffer, expected: object) => {
      socket.ws.send(frame);
      const error = await socket.error();
      assert.deepEqual({ ...error, ...expected }, error, String(frame).slice(0, 80));
    };
    const create = (fields: object) => JSON.stringify({ type: 'response.create', model: 'deep', ...fields });
    await refused('{', { status: 400, code: 'invalid_json' });
    await refused('[]', { status: 400, code: 'invalid_json' });
    await refused(Buffer.from(create({ input: 'x' })), { code: 'invalid_json' });
    await refused('{}', { code: 'missing_parameter', param: 'type' });
    await refused('{"type":"response.steered"}', { code: 'invalid_parameter', param: 'type' });
    const steer = { input: 'No, shorter.', previous_response_id: 'resp_1' };
    socket.ws.send(JSON.stringify({ type: 'response.steer', ...steer }));
    const { error: why, ...failed } = await socket.next(({ type }) => type !== 'error');
    assert.deepEqual(failed, { type: 'response.steer.failed', sequence_number: 0, steer });
    assert.ok(isObject(why) && why.code === 'steering_not_supported');
    const long = JSON.stringify({ type: 'response.steer', input: 'x'.repeat(1024 * 1024) });
    await refused(long, { code: 'invalid_parameter', param: 'input' });
    await refused(create({ input: 'x', stream_id: 'a b' }), { code: 'invalid_parameter', param: 'stream_id' });
    await refused(create({ input: 'x', background: true }), { code: 'unsupported_parameter', param: 'background' });
    await refused(create({ input: 'x', generate: 1 }), { code: 'invalid_parameter', param: 'generate' });
    await refused(create({}), { code: 'missing_parameter', param: 'input' });
    await refused(create({ input: 'x', model: 'none' }), { status: 404, code: 'model_not_found' });
    const unknown = 'resp_00000000-0000-4000-8000-000000000000';
    const previous = { status: 400, code: 'previous_response_not_found', param: 'previous_response_id' };
    await refused(create({ input: 'x', previous_response_id: unknown }), previous);
    socket.create({ input: 'fail' });
    assert.equal((await socket.end()).status, 'failed');
    socket.create({ input: 'hello' });
    assert.equal((await socket.end()).output_text, 'You said: hello');
  });

  it('stores the input of generate: false without calling the model, for later responses', async () => {
    await using socket = await SocketClient.open(gateway);
    for (const store of [true, false]) {
      socket.create({ input: 'fail', generate: false, store });
      const kept = await socket.end();
      assert.deepEqual([kept.status, kept.output, kept.store, kept.warnings], ['completed', [], store, []]);
      socket.create({ input: 'hello', previous_response_id: kept.id });
      const run = await storedRun(idOf(await socket.end()));
      const { request } = JSON.parse(run?.request ?? '{}');
      assert.deepEqual(request.history, [{ role: 'user', content: [{ type: 'text', text: 'fail' }] }]);
    }
  });

  it('continues its own store: false responses, which no other connection can read', async () => {
    await using socket = await SocketClient.open(gateway);
    socket.create({ input: 'hello', store: false });
    const first = await socket.end();
    await using other = await SocketClient.open(gateway);
    other.create({ input: 'So?', previous_response_id: first.id });
    assert.equal((await other.error()).code, 'previous_response_not_found');
    assertRefused(await send(gateway, `GET /v1/responses/${first.id}`), { status: 404, code: 'not_found' });
    for (let n = 0; n < 2; n++) {
      socket.create({ input: 'So?', previous_response_id: first.id });
      assert.equal((await socket.end()).previous_response_id, first.id);
    }
    socket.create({ input: 'fail', previous_response_id: first.id });
    assert.equal((await socket.end()).status, 'failed');
    socket.create({ input: 'So?', previous_response_id: first.id });
    assert.equal((await socket.error()).code, 'previous_response_not_found');
    assert.equal(await storedRun(idOf(first)), undefined);
  });

  it('on disconnect leaves a stored response running, and deletes store: false ones', async () => {
    const socket = await SocketClient.open(gateway);
    const begin = async (store: boolean) => {
      socket.create({ input: 'wait', store, stream_id: `${store}` });
      const { response } = await socket.next((frame) => created(frame) && frame.stream_id === `${store}`);
      return String((response as { id: string }).id);
    };
    socket.create({ input: 'hello', store: false });
    const ended = idOf(await socket.end());
    const kept = await begin(true);
    const lost = await begin(false);
    socket.ws.terminate();
    await until(async () => ((await storedRun(lost)) === undefined ? true : undefined));
    await until(async () => ((await storedRun(ended)) === undefined ? true : undefined));
    assert.equal(responseIn(await send(gateway, `GET /v1/responses/${kept}`)).status, 'in_progress');
    await gateway.release();
    const events = eventsIn(await send(gateway, `GET /v1/responses/${kept}?stream=true&after=1`));
    assert.equal(events.at(-1)?.type, 'response.completed');
  });

  it('is no load while idle, and answers 503 while the gateway lags', async () => {
    await using gateway = await openGateway();
    await using idle = await SocketClient.open(gateway);
    await using socket = await SocketClient.open(gateway);
    gateway.load.lagMs = 10_000;
    assert.equal((await send(gateway, 'POST /v1/responses', { body: { model: 'deep', input: 'hello' } })).status, 200);
    socket.create({ input: 'wait' });
    await socket.next(created);
    idle.create({ input: 'hello' });
    const { status, code } = await idle.error();
    assert.deepEqual([status, code], [503, 'overloaded']);
    gateway.load.lagMs = 0;
    await gateway.release();
    await socket.end();
  });

  it('needs a key, and cannot reach responses of other users', async () => {
    const { host } = new URL(gateway.url);
    const upgrade = `GET /v1/responses HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n`;
    const handshake = 'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    assert.match(await rawExchange(gateway, upgrade + handshake), /^HTTP\/1\.1 401 .*missing_api_key/s);
    const id = await stored('mine');
    await using socket = await SocketClient.open(gateway, { key: KEYS.bob });
    socket.create({ input: 'So?', previous_response_id: id });
    assert.equal((await socket.error()).code, 'previous_response_not_found');
    const item = {
      type: 'item_reference',
      id: responseIn(await send(gateway, `GET /v1/responses/${id}`)).output[0]?.id,
    };
    socket.create({ input: [item, { role: 'user', content: 'So?' }] });
    assert.equal((await socket.error()).code, 'not_found');
  });

  async function stored(input: string): Promise<string> {
    const { json } = await send(gateway, 'POST /v1/responses', { body: { model: 'deep', input, background: true } });
    return (await ended(gateway, String(json.id))).id;
  }

  it('closes with 1009 for a frame beyond body_limit, and with 1002 for an invalid one', async () => {
    await using socket = await SocketClient.open(gateway);
    socket.ws.send('x'.repeat(11 * 1024 * 1024));
    assert.equal((await socket.closed).code, 1009);
    await using broken = await SocketClient.open(gateway);
    // A reserved opcode.
    broken.ws.on('error', () => {});
    Reflect.get(broken.ws, '_socket').write(Buffer.from([0x83, 0x80, 0, 0, 0, 0]));
    assert.equal((await broken.closed).code, 1002);
  });

  it('releases the memory of queued requests on disconnect', async () => {
    const held = async () => Number(/^gateway_body_bytes (\d+)/m.exec((await send(gateway, 'GET /metrics')).text)?.[1]);
    const socket = await SocketClient.open(gateway);
    socket.create({ input: 'wait', store: false });
    await socket.next(created);
    for (let n = 0; n < 3; n++) socket.create({ input: 'x'.repeat(1_000_000) });
    await until(async () => ((await held()) > 3_000_000 ? true : undefined));
    socket.ws.terminate();
    await until(async () => ((await held()) === 0 ? true : undefined));
  });

  it('sends a slow client every event', async () => {
    await using socket = await SocketClient.open(gateway);
    socket.ws.pause();
    socket.create({ input: 'long 20000' });
    const id = await until(async () => {
      const { json } = await send(gateway, 'GET /v1/responses?limit=1&status=completed');
      const [entry] = json.data as { id: string; metadata: object }[];
      return entry && (await storedRun(entry.id))?.request.includes('long 20000') ? entry.id : undefined;
    });
    socket.ws.resume();
    const response = await socket.end();
    assert.equal(response.id, id);
    const numbers = socket.frames.map(({ sequence_number }) => sequence_number);
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
  });
});

describe('the end of a WebSocket at /v1/responses', () => {
  it('comes with 1008 when its key is removed, while its runs continue', async () => {
    await using gateway = await openGateway();
    await using socket = await SocketClient.open(gateway, { key: KEYS.ann2 });
    socket.create({ input: 'wait' });
    const { response } = await socket.next(created);
    const config = httpConfig();
    gateway.configure({ ...config, keys: config.keys.filter(({ id }) => id !== 'ann-2') });
    assert.equal((await socket.closed).code, 1008);
    await gateway.release();
    assert.equal((await ended(gateway, String((response as { id: string }).id))).status, 'completed');
  });

  it('comes with 1001 when the gateway stops, once its responses have ended', async () => {
    await using gateway = await openGateway();
    await using idle = await SocketClient.open(gateway);
    await using socket = await SocketClient.open(gateway);
    socket.create({ input: 'wait' });
    socket.create({ input: 'later' });
    await socket.next(created);
    gateway.stop();
    assert.equal((await idle.closed).code, 1001);
    await gateway.release();
    assert.equal((await socket.end()).status, 'completed');
    assert.equal((await socket.error()).code, 'shutting_down');
    assert.equal((await socket.closed).code, 1001);
  });

  it('comes with 1000 and an error at its maximum age', async () => {
    await using gateway = await openGateway({ socketTimes: { maxOpen: 50 } });
    await using socket = await SocketClient.open(gateway);
    assert.equal((await socket.error()).code, 'websocket_connection_limit_reached');
    assert.equal((await socket.closed).code, 1000);
  });

  it('comes with 1006 when its client does not answer pings', async () => {
    await using gateway = await openGateway();
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      await using silent = await SocketClient.open(gateway, { autoPong: false });
      await using alive = await SocketClient.open(gateway);
      for (let n = 0; n < 2; n++) {
        const pinged = once(alive.ws, 'ping');
        mock.timers.tick(PING_MS);
        await pinged;
        // The gateway answers this ping after it has read the pong to its own.
        alive.ws.ping();
        await once(alive.ws, 'pong');
      }
      assert.equal((await silent.closed).code, 1006);
      alive.create({ input: 'hello' });
      assert.equal((await alive.end()).output_text, 'You said: hello');
    } finally {
      mock.timers.reset();
    }
  });
});
