import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const SERVER = new URL('../../src/server.ts', import.meta.url).href;

/** Loads what a start loads, and prints the modules. */
const LOADING = `
  import { registerHooks } from 'node:module';
  const urls = [];
  registerHooks({
    load(url, context, next) {
      urls.push(url);
      return next(url, context);
    },
  });
  await import(${JSON.stringify(SERVER)});
  process.stdout.write(JSON.stringify({ urls, builtins: process.moduleLoadList }));
`;

describe('the modules loaded at start', () => {
  let loaded: { urls: string[]; builtins: string[] };

  before(async () => {
    const args = ['--input-type=module', '--eval', LOADING];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 });
    loaded = JSON.parse(stdout);
  });

  it('are recorded, with Express and node:http among them', () => {
    assert.ok(loaded.urls.some((url) => url.includes('/node_modules/express/')));
    assert.ok(loaded.builtins.some((name) => name.endsWith(' http')));
  });

  for (const { what, marks } of [
    { what: 'the research loop', marks: ['/src/research/loop.ts', '/src/research/turns.ts'] },
    {
      what: 'provider wires and turn decoding',
      marks: ['/src/upstream/wires/chat-wire.ts', '/src/upstream/decoding/turn-decoder.ts'],
    },
    { what: 'the tools', marks: ['/src/tools/toolbox.ts', '/src/tools/safe-fetch/'] },
    { what: 'http-proxy-middleware', marks: ['/node_modules/http-proxy-middleware/', '/node_modules/httpxy/'] },
    { what: 'the Redis clients', marks: ['/node_modules/@redis/', '/node_modules/bullmq/'] },
    { what: 'page parsers', marks: ['/node_modules/linkedom/', '/node_modules/turndown/', '/node_modules/unpdf/'] },
    { what: 'the OpenAI and MCP clients', marks: ['/node_modules/openai/', '/node_modules/@modelcontextprotocol/'] },
    {
      what: "OpenTelemetry's SDK",
      marks: ['/src/telemetry/sdk.ts', '/node_modules/@opentelemetry/sdk-trace/', '/node_modules/@opentelemetry/core/'],
    },
    { what: 'the reader of uploads', marks: ['/node_modules/@fastify/busboy/'] },
    { what: 'the JSON Schema validator', marks: ['/node_modules/ajv/'] },
    {
      what: 'the OpenAPI description',
      marks: ['/src/protocol/openapi/openapi.ts', '/node_modules/@asteasolutions/'],
    },
  ]) {
    it(`do not include ${what}`, () => {
      for (const mark of marks) assert.ok(existsSync(new URL(`../..${mark}`, import.meta.url)), `${mark} is there`);
      assert.deepEqual(
        loaded.urls.filter((url) => marks.some((mark) => url.includes(mark))),
        [],
      );
    });
  }

  it('do not include Node’s own undici, which an import of node:http brings along', () => {
    assert.deepEqual(
      loaded.builtins.filter((name) => name.includes('undici')),
      [],
    );
  });
});
