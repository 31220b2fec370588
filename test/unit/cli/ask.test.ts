import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mock } from 'node:test';
import { promisify } from 'node:util';
import { type AskOptions, ask } from '../../../src/cli/ask/ask.ts';
import { lossNote } from '../../../src/cli/gateway-client.ts';
import { startWebServer } from '../../support/web-server.ts';
import { type FakeScript, startFakeGateway } from './fake-gateway.ts';
import { RecordedTerminal } from './recorded-terminal.ts';

const citation = (id: number | null, url: string, verified = true) => ({
  type: 'url_citation' as const,
  start_index: 0,
  end_index: 3,
  url,
  title: `Title of ${url}`,
  index: id,
  source_id: id === null ? null : id + 4,
  verified,
  cited_text: null,
  support: 'unchecked' as const,
});

/** Asks a scripted gateway; returns the output, the requests and the exit code. */
async function askFake(options: Partial<AskOptions> = {}, script: FakeScript = {}, terminal = new RecordedTerminal()) {
  await using gateway = await startFakeGateway(script);
  const connection = { baseUrl: gateway.url, apiKey: 'sk-test' };
  const code = await ask({ ...connection, question: 'Why?', ...options }, terminal);
  const { id, requests, submitted, idempotencyKeys } = gateway;
  return { code, ...terminal.written, id, requests, submitted, idempotencyKeys };
}

describe('research-gateway ask', () => {
  it('prints the refusal of a model', async () => {
    const { out } = await askFake({}, { refusal: 'I cannot say that.' });
    assert.match(out, /^\s*I cannot say that\.\n$/);
  });

  it('says where the images of an answer are, also if there is no text', async () => {
    for (const answer of ['', 'Look.']) {
      const { code, out, id } = await askFake({}, { answer, images: ['iVBORw0KGgo='] });
      const note = `[Image 1, png: base64 in the output of research-gateway ask --resume ${id} --json]`;
      assert.equal(out, `\n${answer && 'Look.\n\n'}${note}\n`);
      assert.equal(code, 0);
    }
  });

  it('shows progress in plain lines and prints the report, exit code 0', async () => {
    const { code, err, out } = await askFake();
    assert.equal(code, 0);
    for (const line of [
      /0:0\d {2}thought: Let me think\./,
      /web_search: “a”, “b”/,
      /web_search: 1 result\n/,
      /writing/,
    ]) {
      assert.match(err, line);
    }
    assert.match(err, /Completed in 0:0\d, 0 tool calls, 1 source, 0 tokens, resp_/);
    assert.equal(out, '\nAn answer. [1]\n');
  });

  it('prints the report of a gateway of an earlier version', async () => {
    const lacks = ['access_programs', 'plan', 'warnings', 'claims', 'index', 'cited_text', 'support'];
    const { out, code } = await askFake({}, { lacks, annotations: [citation(1, 'https://a.example')] });
    assert.deepEqual([code, out.split('\n')[1]], [0, 'An answer. [1]']);
  });

  it('says so if it does not understand the end that a gateway of another version wrote', async () => {
    const { out, err, code, id } = await askFake({}, { has: { warnings: 'none' } });
    assert.equal(code, 4);
    assert.equal(out, '');
    assert.match(err, new RegExp(`error: the gateway ended the run in a way that this version .* --resume ${id}`));
  });

  it('lists each source once at the end, by number, and marks those never seen', async () => {
    const annotations = [
      citation(2, 'https://b.example'),
      citation(1, 'https://a.example'),
      citation(2, 'https://b.example'),
      citation(null, 'https://invented.example', false),
    ];
    const { out } = await askFake({}, { annotations });
    assert.deepEqual(out.trim().split('\n').slice(2), [
      'Sources',
      '  [1] Title of https://a.example – https://a.example',
      '  [2] Title of https://b.example – https://b.example',
      '  [-] Title of https://invented.example – https://invented.example (never seen by this run)',
    ]);
  });

  it('uses the first model of the key, or the named model and effort', async () => {
    const first = await askFake();
    assert.deepEqual(first.submitted, [{ model: 'deep', input: 'Why?', background: true }]);
    const named = await askFake({ model: 'other', effort: 'low' });
    const reasoning = { effort: 'low' };
    assert.deepEqual(named.submitted, [{ model: 'other', input: 'Why?', background: true, reasoning }]);
    assert.ok(!named.requests.includes('GET /v1/models'));
  });

  it('reads the question from standard input for -', async () => {
    const { submitted } = await askFake({ question: '-' }, {}, new RecordedTerminal({ input: 'From a pipe?' }));
    assert.equal(submitted[0]?.input, 'From a pipe?');
  });

  it('prints only the response object on standard output with --json', async () => {
    const { out, code } = await askFake({ json: true, quiet: true });
    const response = JSON.parse(out);
    assert.deepEqual([code, response.object, response.output_text], [0, 'response', 'An answer. [1]']);
  });

  it('rewrites one line on a terminal and clears it at the end', async () => {
    const terminal = new RecordedTerminal({ live: true });
    await using gateway = await startFakeGateway({ end: 'hangs' });
    const done = ask({ baseUrl: gateway.url, apiKey: 'k', question: 'Why?' }, terminal);
    await terminal.shown(/searching · 0 tool calls · 0 sources/);
    assert.ok(!terminal.written.err.includes('\n'), 'nothing but the one line');
    terminal.interrupt();
    assert.equal(await done, 3);
    assert.ok(terminal.written.err.includes('\r\u001b[2KCancelled after'));
  });

  it('strips escape sequences that a page smuggled into the answer', async () => {
    const { out } = await askFake({}, { answer: 'A\u001b]0;owned\u0007B \u202eevil' });
    assert.equal(out, '\nA]0;ownedB evil\n');
  });
});

describe('research-gateway ask over a bad connection', () => {
  for (const options of [{ question: 'Why?' }, { resume: 'resp_1' }]) {
    it(`says after five seconds that the gateway has not answered (${Object.keys(options)})`, async () => {
      const asked = Promise.withResolvers<void>();
      await using silent = await startWebServer(() => asked.resolve());
      const terminal = new RecordedTerminal();
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const done = ask({ baseUrl: silent.origin, apiKey: 'k', ...options }, terminal);
        await asked.promise;
        mock.timers.tick(5000);
        assert.match(terminal.written.err, /^ {1,}0:\d\d {2}no answer yet from http:\/\/127[^\n]*\n$/);
        // The first one only cancels a run that is known.
        terminal.interrupt();
        terminal.interrupt();
        assert.equal(await done, 3);
      } finally {
        mock.timers.reset();
      }
    });
  }

  it('resumes after the last event it saw, as often as needed, showing each event once', async () => {
    const { code, err, requests, out } = await askFake({}, { cuts: [3, 0, 2, 1] });
    assert.equal(code, 0);
    assert.deepEqual(
      requests.slice(1).map((request) => request.replace(/resp_[\w-]+/, 'ID')),
      [
        'POST /v1/responses',
        'GET /v1/responses/ID?stream=true',
        'GET /v1/responses/ID?stream=true&starting_after=3',
        'GET /v1/responses/ID?stream=true&starting_after=3',
        'GET /v1/responses/ID?stream=true&starting_after=5',
        'GET /v1/responses/ID?stream=true&starting_after=6',
      ],
    );
    assert.equal(err.match(/thought:/g)?.length, 1);
    assert.match(err, /connection lost, trying again/);
    assert.match(out, /An answer/);
  });

  it('says of a silence that it waits, as models may think for long', () => {
    const silence = Object.assign(new Error('nothing came for 60 s'), { name: 'SilenceError' });
    assert.equal(lossNote(silence), 'still waiting, trying again: nothing came for 60 s');
  });

  it('submits again with the same idempotency key if the connection breaks before the answer', async () => {
    const { code, idempotencyKeys } = await askFake({}, { lost: 1 });
    assert.deepEqual([code, idempotencyKeys.length, new Set(idempotencyKeys).size], [0, 2, 1]);
    assert.match(String(idempotencyKeys[0]), /^[\w-]{36}$/);
  });

  it('resumes a named run from its first event', async () => {
    const { code, requests, err } = await askFake({ resume: 'resp_x', question: undefined });
    assert.deepEqual([code, requests], [0, ['GET /v1/responses/resp_x?stream=true']]);
    assert.match(err, /thought: Let me think/);
  });

  it('says that nothing listens at the address, exit code 4', async () => {
    const terminal = new RecordedTerminal();
    const { url } = await (async () => {
      await using gateway = await startFakeGateway();
      return gateway;
    })();
    assert.equal(await ask({ baseUrl: url, apiKey: 'k', question: 'Why?' }, terminal), 4);
    assert.match(terminal.written.err, /cannot be reached: .*ECONNREFUSED.* `npx research-gateway`/);
  });
});

describe('the exit code of research-gateway ask', () => {
  it('is 1 for a failed run, with the reason', async () => {
    const { code, err, out } = await askFake({}, { end: 'failed' });
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /Failed after .*: every route failed \(upstream_error\)/);
  });

  it('is 2 without a question', async () => {
    const { code, err } = await askFake({ question: '  ' });
    assert.equal(code, 2);
    assert.match(err, /give one of the three: a question/);
  });

  it('is 2 for both a question and a run to resume, without a request', async () => {
    const { code, requests } = await askFake({ resume: 'resp_x', question: 'And?' });
    assert.deepEqual([code, requests.length], [2, 0]);
  });

  it('is 3 after Ctrl-C, which also cancels the run on the server', async () => {
    const terminal = new RecordedTerminal();
    await using gateway = await startFakeGateway({ end: 'hangs' });
    const done = ask({ baseUrl: gateway.url, apiKey: 'k', question: 'Why?' }, terminal);
    await terminal.shown(/web_search/);
    terminal.interrupt();
    assert.equal(await done, 3);
    assert.ok(gateway.requests.includes(`POST /v1/responses/${gateway.id}/cancel`));
    assert.match(terminal.written.err, /Cancelled after/);
  });

  it('is 3 after Ctrl-C while it waits for standard input, which then keeps no process alive', async () => {
    const program = `
      const { ask } = await import(${JSON.stringify(new URL('../../../src/cli/ask/ask.ts', import.meta.url))});
      const { processTerminal } = await import(${JSON.stringify(new URL('../../../src/cli/terminal.ts', import.meta.url))});
      const done = ask({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', question: '-' }, processTerminal({ plain: true }));
      process.kill(process.pid, 'SIGINT');
      process.stdout.write(String(await done));`;
    // Its standard input stays open.
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
    assert.equal(stdout, '3');
  });

  it('is 5 if the key may use no model', async () => {
    const { code, err } = await askFake({}, { models: [] });
    assert.equal(code, 5);
    assert.match(err, /the gateway refused: this key may use no model/);
  });

  it('is 5 if the gateway refuses; for a 401 the message names --api-key', async () => {
    const refuse = { status: 401, code: 'invalid_api_key' as const, message: 'Unknown API key.' };
    const { code, err } = await askFake({ model: 'deep' }, { refuse });
    assert.equal(code, 5);
    assert.match(err, /Unknown API key\. \(invalid_api_key\).*--api-key/);
  });

  it('strips escape sequences from the message of a refusal', async () => {
    const refuse = { status: 401, code: 'invalid_api_key' as const, message: 'Unknown\u001b[2J key.' };
    const { err } = await askFake({ model: 'deep' }, { refuse });
    assert.match(err, /Unknown\[2J key\./);
  });
});
