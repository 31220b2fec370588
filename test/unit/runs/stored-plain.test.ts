import assert from 'node:assert/strict';
import { builtinTools, researchRequest } from '../../../src/research/run/request.ts';
import { DATA_VERSION } from '../../../src/runs/stored/stored-data.ts';
import {
  readPlainRequest,
  readRequest,
  readResearchRequest,
  storedRequest,
} from '../../../src/runs/stored/stored-request.ts';
import { parseTranscript } from '../../../src/runs/stored/stored-transcript.ts';
import { recordOf } from '../../support/stored-record.ts';

/** A response of a plain model, as the first version that had them stored it. */
const REQUEST =
  '{"v":2,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Weather?"}]}],' +
  '"request":{"kind":"plain","messages":[{"role":"user","content":[{"type":"text","text":"Look"},' +
  '{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},{"role":"assistant","content":"",' +
  '"tool_calls":[{"id":"call_1","name":"get","arguments":"{}"}],"replay":{"provider":"p","fields":{"reasoning_content":"I ask."}}},' +
  '{"role":"tool","tool_call_id":"call_1","content":"21"}],"instructions":"Be short.","tools":[{"name":"get",' +
  '"description":"","parameters":{"type":"object"},"strict":true}],' +
  '"hosted":{"builtin":["web_search"],"allowedDomains":["example.org"],"country":"DE"},"mcpServers":[],"maxToolCalls":3,"toolChoice":{"name":"get"},"oneCallAtOnce":true,' +
  '"maxOutputTokens":100,"temperature":0.5,"topP":null,"format":null,"reasoningEffort":"low","reasoningSummary":"auto",' +
  '"cacheKey":"k"}}';
const TURN =
  '{"t":"turn","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","name":"web_search","arguments":"{}"}]},' +
  '"usage":{"inputTokens":11,"cachedTokens":0,"outputTokens":7,"reasoningTokens":0,"estimated":false},' +
  '"calls":[{"id":"call_1","call":0,"name":"web_search","arguments":"{}"}],"functions":[{"id":"call_2","name":"get","arguments":"{}"}],' +
  '"cut":false,"invented":false,"estimate":0,"elapsedMs":0}';
const ENTRY =
  '{"t":"answered","usage":{"inputTokens":11,"cachedTokens":0,"outputTokens":7,"reasoningTokens":0,"estimated":false},' +
  '"cut":"content_filter","message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"call_1","name":"get","arguments":"{}"}]}}';

/** One with encrypted reasoning and summaries for its client, over a WebSocket. */
const KEPT =
  '{"v":2,"input":[],"generate":false,"keepMs":3900000,"request":{"kind":"plain","messages":[{"role":"assistant","content":"Hm.",' +
  '"rebased":true}],"instructions":null,"tools":[],"mcpServers":[],"maxToolCalls":null,"toolChoice":"auto","oneCallAtOnce":false,' +
  '"maxOutputTokens":null,"temperature":null,"topP":null,"format":null,"reasoningEffort":null,"compactAt":1000,"truncates":true,' +
  '"encryptedReasoning":true}}';
/** One that asks only for a summary, and one with a deferred function of its client. */
const SUMMARY = KEPT.replace('"truncates":true', '"truncates":true,"compacts":true');
const FOUND = KEPT.replace(
  '"tools":[]',
  '"tools":[{"name":"crm.get","description":"","parameters":{"type":"object"},"deferred":"Customers."}]',
);
const USAGE = '{"inputTokens":11,"cachedTokens":0,"outputTokens":7,"reasoningTokens":0,"estimated":false}';
const COMPACTED = `{"t":"compacted","summary":"It rains.","usage":${USAGE}}`;
const FAILED = `{"t":"spent","usage":${USAGE},"compacting":true}`;

describe('a stored response of a plain model', () => {
  it('is read as it was written', async () => {
    const request = readPlainRequest(recordOf(REQUEST));
    assert.deepEqual(request, JSON.parse(REQUEST).request);
    assert.deepEqual(await parseTranscript([TURN, ENTRY]), [JSON.parse(TURN), JSON.parse(ENTRY)]);
    const kept = recordOf(KEPT);
    assert.deepEqual(readPlainRequest(kept), JSON.parse(KEPT).request);
    const { generate, keepMs } = readRequest(kept);
    assert.deepEqual([generate, keepMs], [false, 3_900_000]);
    for (const further of [SUMMARY, FOUND]) {
      assert.deepEqual(readPlainRequest(recordOf(further)), JSON.parse(further).request);
      assert.notEqual(further, KEPT);
    }
    assert.deepEqual(await parseTranscript([COMPACTED, FAILED]), [JSON.parse(COMPACTED), JSON.parse(FAILED)]);
  });

  it('is refused by an older gateway, which leaves the run to a newer one', () => {
    const newer = REQUEST.replace('"v":2', `"v":${DATA_VERSION + 1}`);
    assert.throws(() => readPlainRequest(recordOf(newer)), { name: 'NewerDataError' });
  });
});

describe('a stored request with files for a plain model', () => {
  it('has the data version of gateways that know them', () => {
    const stored = (part: object) => {
      const request = { ...JSON.parse(REQUEST).request, messages: [{ role: 'user', content: [part] }] };
      return storedRequest({ request, input: [] } as never, {
        cipher: { isMixed: false } as never,
        held: {},
        notifies: false,
      }).v;
    };
    assert.equal(stored({ type: 'text', text: 'Look' }), 2);
    assert.equal(
      stored({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } }),
      3,
    );
    assert.equal(stored({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }), 3);
  });
});

describe('a stored research request', () => {
  const REQUESTED = {
    kind: 'research',
    history: [],
    earlierSources: [],
    conversation: [],
    instructions: null,
    effort: 'low',
    tools: { builtin: [], allowedDomains: [] },
    toolChoice: 'auto',
    mcpServers: [],
    maxOutputTokens: null,
    maxToolCalls: null,
    temperature: null,
    topP: null,
    format: null,
  };
  /** Fields of which version 1 lost nothing that anybody would miss, or which only come with others. */
  const FORMER = [
    'maxCost',
    'reasoningSummary',
    'profile',
    'warnings',
    'settings',
    'functionChoice',
    'oneFunctionAtOnce',
    'plan',
  ];
  const FORMER_TOOLS = ['country', 'searchContextSize'];
  const VALUES: Record<string, unknown> = { clarify: true, charts: true, lanes: 2, attempts: 2 };
  const versionOf = (request: object) =>
    storedRequest({ request, input: [] } as never, {
      cipher: { isMixed: false } as never,
      held: {},
      notifies: false,
    }).v;

  it('is left to gateways that know all of its fields', () => {
    assert.equal(versionOf(REQUESTED), 1);
    assert.equal(versionOf({ ...REQUESTED, plan: 'propose' }), 2);
    for (const name of Object.keys(researchRequest.shape).filter((name) => !(name in REQUESTED)))
      assert.equal(versionOf({ ...REQUESTED, [name]: VALUES[name] ?? {} }), FORMER.includes(name) ? 1 : 2, name);
    for (const name of Object.keys(builtinTools.shape).filter((name) => !(name in REQUESTED.tools)))
      assert.equal(
        versionOf({ ...REQUESTED, tools: { ...REQUESTED.tools, [name]: {} } }),
        FORMER_TOOLS.includes(name) ? 1 : 2,
        name,
      );
  });
});

describe('the stored transcript of a report by sections', () => {
  it('is read as it was written, and refused if it has an unknown entry', async () => {
    const entries = [
      `{"t":"outline","sections":[{"heading":"A","aim":"What it is.","records":[1,2]}],"usage":${USAGE},"estimate":900}`,
      `{"t":"draft","text":"So","whole":false,"usage":${USAGE}}`,
      `{"t":"draft","text":" it is [1].","whole":true,"cut":"max_output_tokens","usage":${USAGE}}`,
      `{"t":"checked","text":"So it is [1].","accepted":[{"claim":"So it is","source":1,"text":"It is so."}],"usage":${USAGE}}`,
      `{"t":"section","length":20,"tokens":6,"usage":${USAGE},"cut":null}`,
    ];
    assert.deepEqual(
      await parseTranscript(entries),
      entries.map((entry) => JSON.parse(entry)),
    );
    await assert.rejects(parseTranscript(['{"t":"unheard","text":""}']), { name: 'NewerDataError' });
  });
});

describe('stored data with values that this version does not know', () => {
  const TEXT = { type: 'text', text: 'Go.' };
  const requestWith = (fields: object) =>
    recordOf(JSON.stringify({ v: 2, input: [], request: { ...JSON.parse(REQUEST).request, ...fields } }));

  it('is left to a newer gateway', async () => {
    for (const entry of [
      '{"t":"note","guard":"unheard","text":""}',
      '{"t":"result","call":0,"status":"unheard","result":"","sources":[]}',
      `{"t":"section","length":20,"tokens":6,"usage":${USAGE},"cut":"unheard"}`,
    ])
      await assert.rejects(parseTranscript([entry]), { name: 'NewerDataError' }, entry);
    const format = { type: 'unheard' };
    const content = [TEXT, { type: 'unheard', text: 'Go.' }];
    for (const fields of [{ toolChoice: 'unheard' }, { format }, { messages: [{ role: 'user', content }] }])
      assert.throws(() => readRequest(requestWith(fields)), { name: 'NewerDataError' }, JSON.stringify(fields));
  });

  it('is an error if it is damaged as well', async () => {
    await assert.rejects(parseTranscript(['{"t":"note","guard":"unheard"}']), { code: 'internal_error' });
    for (const guard of ['', '"guard":null,', '"guard":42,'])
      await assert.rejects(parseTranscript([`{"t":"note",${guard}"text":""}`]), { code: 'internal_error' }, guard);
    assert.throws(() => readRequest(requestWith({ toolChoice: 'unheard', messages: 1 })), { code: 'internal_error' });
    assert.throws(() => readRequest(requestWith({ messages: [{ role: 'user', content: [{ ...TEXT, text: 1 }] }] })), {
      code: 'internal_error',
    });
  });

  it('is read if they are warnings, which only the client reads', async () => {
    const entry = '{"t":"warned","warnings":[{"code":"unheard","message":"So it is."}]}';
    assert.deepEqual(await parseTranscript([entry]), [JSON.parse(entry)]);
  });
});

describe('a stored research that continues with outputs of functions', () => {
  const entries = [
    '{"t":"turn","message":{"role":"assistant","content":"","tool_calls":[{"id":"p","name":"get","arguments":"{}"}]},' +
      '"usage":{"inputTokens":11,"cachedTokens":0,"outputTokens":7,"reasoningTokens":0,"estimated":false},' +
      '"calls":[{"id":"p","call":0,"name":"get","arguments":"{}","client":true}],"cut":false,"invented":false,' +
      '"estimate":9,"elapsedMs":5}',
    '{"t":"result","call":0,"status":"completed","result":"21","sources":[],"queries":0}',
    '{"t":"note","guard":"user","text":"And be quick."}',
  ];
  const stored =
    '{"v":2,"input":[],"request":{"kind":"research","history":[],"earlierSources":[],"conversation":[],"instructions":null,' +
    '"effort":"medium","tools":null,"toolChoice":"auto","mcpServers":[],"functions":[{"name":"get","description":"",' +
    '"parameters":{"type":"object"}}],"functionChoice":{"name":"get"},' +
    `"goesOn":{"entries":[${entries.join(',')}],"from":"1d0a0000-0000-4000-8000-000000000000"},` +
    '"plan":"propose","clarify":true,"sources":{"allowedDomains":["example.org"],"metOnly":true},' +
    '"maxOutputTokens":null,"maxToolCalls":null,"temperature":null,"topP":null,"format":null}}';

  it('is read as it was written', async () => {
    assert.deepEqual(readResearchRequest(recordOf(stored)), JSON.parse(stored).request);
  });
});
