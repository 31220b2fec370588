import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/base/json.ts';
import type { AssistantMessage, TurnMessage, TurnRequest } from '../../../src/upstream/turn.ts';
import { tool } from '../../support/decode-turn.ts';
import {
  type ChatBody,
  type ScriptedProvider,
  startScriptedProvider,
  status,
  turn,
} from '../../support/scripted-provider.ts';
import { ask, chat, config, finishOf, QUESTION, textOf } from './chat-harness.ts';

/** A provider that refuses requests until `refusal` returns undefined. */
function refusing(refusal: (body: ChatBody) => string | { status: number; text: string } | undefined) {
  return startScriptedProvider({
    respond: ({ body }) => {
      const complaint = refusal(body);
      if (complaint === undefined) return turn({ text: 'fine' });
      const { status: code, text } = typeof complaint === 'string' ? { status: 400, text: complaint } : complaint;
      return status(code, { message: text });
    },
  });
}

const bodyOf = (provider: ScriptedProvider, n = -1): ChatBody => provider.requests.at(n)?.body ?? {};

const FULL: TurnRequest = {
  messages: [{ role: 'system', content: 'Be brief.' }, ...QUESTION.messages],
  tools: [tool('web_search', { queries: 'array' })],
  maxOutputTokens: 20_000,
  temperature: 0.5,
  topP: 0.9,
  responseFormat: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
};

const CALL = { id: 'call_a_rather_long_id', name: 'web_search', arguments: '{"queries":["x"]}' };

/** The messages of a second turn, after a tool call of the provider `main`. */
function afterCall(message: Partial<AssistantMessage> = {}): TurnMessage[] {
  return [
    ...QUESTION.messages,
    { role: 'assistant', content: '', tool_calls: [CALL], ...message },
    { role: 'tool', tool_call_id: CALL.id, content: 'found' },
  ];
}

/** What a provider signed, as its fields are stored. */
const SIGNED: JsonObject[] = [
  { thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 'of another' }] },
  { reasoning_details: [{ type: 'reasoning.text', text: 'x', signature: 'of another' }] },
  { tool_call_extras: { [CALL.id]: { google: { thought_signature: 'of another' } } } },
];

describe('a provider request', () => {
  const learned: [
    string,
    TurnRequest,
    (body: ChatBody) => string | { status: number; text: string } | undefined,
    (body: ChatBody) => void,
  ][] = [
    ...SIGNED.map((fields): (typeof learned)[number] => [
      `reasoning whose signature is refused is left out: ${Object.keys(fields)}`,
      { messages: afterCall({ replay: { provider: 'main', fields } }) },
      (body) =>
        JSON.stringify(body.messages).includes('of another')
          ? 'messages.1.content.0: Invalid `signature` in `thinking` block'
          : undefined,
      (body) => assert.equal(body.messages?.length, 3),
    ]),
    [
      'max_tokens becomes max_completion_tokens',
      FULL,
      (body) =>
        'max_tokens' in body
          ? "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
          : undefined,
      (body) => assert.equal(body.max_completion_tokens, 20_000),
    ],
    [
      'a smaller maximum output is taken from the refusal',
      FULL,
      (body) =>
        Number(body.max_tokens) > 8192
          ? 'max_tokens is too large: 20000. This model supports at most 8192 completion tokens.'
          : undefined,
      (body) => assert.equal(body.max_tokens, 8192),
    ],
    [
      'refused parameters are dropped one by one',
      FULL,
      (body) =>
        'temperature' in body
          ? "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported."
          : 'stream_options' in body
            ? {
                status: 422,
                text: '[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"stream":true}}]',
              }
            : undefined,
      (body) =>
        assert.deepEqual(
          ['temperature' in body, 'stream_options' in body, body.top_p, body.stream],
          [false, false, 0.9, true],
        ),
    ],
    ...[
      `{"error":{"message":"Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.","type":"invalid_request_error","param":"stream","code":"unsupported_value"}}`,
      'Streaming is not supported for this model.',
    ].map((text): (typeof learned)[number] => [
      `a model that may not be streamed is asked for the whole answer (${text.slice(0, 70)})`,
      FULL,
      (body) => (body.stream === true ? text : undefined),
      (body) => assert.deepEqual(['stream' in body, 'stream_options' in body, body.temperature], [false, false, 0.5]),
    ]),
    [
      'a refused effort is asked with the nearest that is not',
      { ...FULL, reasoningEffort: 'max' },
      (body) =>
        ['max', 'xhigh'].includes(`${body.reasoning_effort}`)
          ? `Unsupported value: 'reasoning_effort' does not support '${body.reasoning_effort}' with this model. Supported values are: 'low', 'medium' and 'high'.`
          : undefined,
      (body) => assert.equal(body.reasoning_effort, 'high'),
    ],
    [
      'efforts are left out if the parameter is refused',
      { ...FULL, reasoningEffort: 'low' },
      (body) =>
        'reasoning_effort' in body
          ? "Unsupported parameter: 'reasoning_effort' is not supported with this model."
          : undefined,
      (body) => assert.equal('reasoning_effort' in body, false),
    ],
    [
      'a refused response format becomes an instruction',
      FULL,
      (body) => ('response_format' in body ? 'This response_format type is unavailable now: invalid' : undefined),
      (body) => assert.match(body.messages?.[0].content, /^Be brief\.\n\n.*follows this schema/s),
    ],
    [
      'system becomes developer if the provider asks for it',
      FULL,
      (body) =>
        body.messages?.some(({ role }) => role === 'system')
          ? "'messages[0].role' does not support 'system' with this model. Use 'developer'."
          : undefined,
      (body) => assert.equal(body.messages?.[0].role, 'developer'),
    ],
    [
      'instructions move into the user message if there is no role for them',
      FULL,
      (body) => (body.messages?.some(({ role }) => role === 'system') ? 'System role not supported' : undefined),
      (body) => assert.deepEqual(body.messages, [{ role: 'user', content: 'Be brief.\n\nWhat is a test?' }]),
    ],
    [
      'adjacent messages of one role are joined if roles must alternate',
      { messages: [...QUESTION.messages, { role: 'user', content: 'Really?' }] },
      (body) =>
        body.messages?.length === 2 ? 'Conversation roles must alternate user/assistant/user/assistant/...' : undefined,
      (body) => assert.deepEqual(body.messages, [{ role: 'user', content: 'What is a test?\n\nReally?' }]),
    ],
    [
      "messages of the system are joined in front, and later ones become the user's, if only the first may be its own",
      {
        messages: [
          { role: 'system', content: 'A' },
          { role: 'system', content: 'B' },
          ...QUESTION.messages,
          { role: 'assistant', content: 'Yes.' },
          { role: 'system', content: 'C' },
        ],
      },
      (body) =>
        body.messages?.slice(1).some(({ role }) => role === 'system')
          ? { status: 500, text: 'Jinja Exception: System message must be at the beginning.' }
          : undefined,
      (body) =>
        assert.deepEqual(
          body.messages?.map(({ role, content }) => [role, content]),
          [
            ['system', 'A\n\nB'],
            ['user', 'What is a test?'],
            ['assistant', 'Yes.'],
            ['user', 'C'],
          ],
        ),
    ],
    [
      'instructions go to the user if the chat template knows only user, assistant and tool',
      FULL,
      (body) =>
        body.messages?.some(({ role }) => role === 'system')
          ? { status: 500, text: 'Error rendering prompt: "Only user, assistant and tool roles are supported!"' }
          : undefined,
      (body) => assert.deepEqual(body.messages, [{ role: 'user', content: 'Be brief.\n\nWhat is a test?' }]),
    ],
    [
      'calls and results are text if the chat template has no role for results',
      { messages: afterCall(), tools: [tool('web_search')] },
      (body) =>
        body.messages?.some(({ role }) => role === 'tool')
          ? { status: 500, text: 'Jinja Exception: Only user, system and assistant roles are supported!' }
          : undefined,
      (body) => assert.match(body.messages?.at(-1).content, /^<tool_response>\nfound/),
    ],
    [
      'a user message is added if one must come last',
      { messages: [...QUESTION.messages, { role: 'assistant', content: 'A test is' }] },
      (body) =>
        body.messages?.at(-1).role === 'assistant'
          ? 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
          : undefined,
      (body) => assert.equal(body.messages?.at(-1).role, 'user'),
    ],
    [
      'call ids are shortened to nine characters if required',
      { messages: afterCall() },
      (body) =>
        /^\w{9}$/.test(body.messages?.at(-1).tool_call_id)
          ? undefined
          : 'Tool call id was call_a but must be a-z, A-Z, 0-9, with a length of 9.',
      (body) => assert.equal(body.messages?.at(-1).tool_call_id, body.messages?.at(-2).tool_calls[0].id),
    ],
    [
      'null content becomes empty text if refused',
      { messages: afterCall() },
      (body) =>
        body.messages?.some(({ content }) => content === null)
          ? { status: 500, text: 'invalid message content: must be a string, got null' }
          : undefined,
      (body) => assert.equal(body.messages?.[1].content, ''),
    ],
    [
      'refused keywords are removed from schemas',
      {
        ...QUESTION,
        tools: [
          {
            name: 'a',
            description: 'b',
            parameters: {
              $schema: 'x',
              type: 'object',
              properties: { $schema: { type: 'string' } },
              additionalProperties: false,
            },
          },
        ],
      },
      (body) =>
        body.tools?.[0].function.parameters.$schema
          ? 'Invalid JSON payload received. Unknown name "$schema" at tools[0]'
          : undefined,
      (body) =>
        assert.deepEqual(body.tools?.[0].function.parameters, {
          type: 'object',
          properties: { $schema: { type: 'string' } },
        }),
    ],
    [
      'tools move into the text if the model has none',
      { ...FULL, messages: [{ role: 'system', content: 'Be brief.' }, ...afterCall()] },
      (body) => ('tools' in body ? 'registry.ollama.ai/library/gemma does not support tools' : undefined),
      ({ messages = [] }) => {
        assert.match(messages[0].content, /^Be brief\..*"name":"web_search".*<tool_call>/s);
        assert.deepEqual(messages.slice(2), [
          {
            role: 'assistant',
            content: '<tool_call>\n{"name": "web_search", "arguments": {"queries":["x"]}}\n</tool_call>',
          },
          { role: 'user', content: '<tool_response>\nfound\n</tool_response>' },
        ]);
      },
    ],
    [
      'tools move into the text if the server parses no calls',
      FULL,
      (body) =>
        'tools' in body
          ? '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
          : undefined,
      (body) => assert.equal('tools' in body, false),
    ],
    [
      'reasoning is not sent back if refused',
      { messages: afterCall({ replay: { provider: 'main', fields: { reasoning_content: 'Hm.' } } }) },
      (body) => (body.messages?.[1].reasoning_content ? "property 'reasoning_content' is unsupported" : undefined),
      (body) => assert.equal(body.messages?.[1].reasoning_content, undefined),
    ],
    [
      'opaque reasoning is not sent back if refused',
      { messages: afterCall({ replay: { provider: 'main', fields: { reasoning_opaque: 'x' } } }) },
      (body) => (body.messages?.[1].reasoning_opaque ? "property 'reasoning_opaque' is unsupported" : undefined),
      (body) => assert.equal(body.messages?.[1].reasoning_opaque, undefined),
    ],
    [
      'a placeholder is sent if reasoning is required',
      { messages: afterCall() },
      (body) =>
        body.messages?.[1].reasoning_content
          ? undefined
          : 'Missing `reasoning_content` field in the assistant message at message index 1',
      (body) => assert.equal(body.messages?.[1].reasoning_content, ' '),
    ],
  ];
  for (const [promise, request, refusal, check] of learned) {
    it(`learns once: ${promise}`, async () => {
      await using provider = await refusing(refusal);
      const { upstream, model } = chat(config({ main: { base_url: provider.url, max_retries: 0 } }));
      await using _ = upstream;
      assert.equal(textOf(await ask(model, request)), 'fine');
      check(bodyOf(provider));
      const asked = provider.requests.length;
      assert.equal(textOf(await ask(model, request)), 'fine');
      assert.equal(provider.requests.length, asked + 1, 'the next request needs no second attempt');
    });
  }

  it('is given up if the provider refuses everything', async () => {
    await using provider = await refusing(
      () => "Unsupported parameter: 'temperature', 'top_p', 'stream_options', 'tools', 'max_tokens'",
    );
    const { upstream, model } = chat(config({ main: { base_url: provider.url, max_retries: 0 } }));
    await using _ = upstream;
    await assert.rejects(ask(model, FULL), /Unsupported parameter/);
    assert.ok(provider.requests.length < 10);
  });

  it('is asked in as many ways as a strict provider needs', async () => {
    const strict = ['temperature', 'top_p', 'response_format', 'stream_options', 'stream', 'prompt_cache_key', 'tools'];
    await using provider = await refusing((body) => {
      const refused = strict.find((name) => name in body);
      return refused === undefined ? undefined : `the param '${refused}' is not supported`;
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, max_retries: 0 } }));
    await using _ = upstream;
    await ask(model, { ...FULL, cacheKey: 'run' });
    assert.equal(provider.requests.length, strict.length + 1);
  });

  it('is no lesson for others if it is refused in every form', async () => {
    await using provider = await refusing(({ tools }) =>
      tools?.length ? `Invalid schema for function '${tools[0].function.name}'` : undefined,
    );
    const { upstream, model } = chat(config({ main: { base_url: provider.url, max_retries: 0 } }));
    await using _ = upstream;
    await ask(model, QUESTION);
    const before = bodyOf(provider);
    for (const name of ['streaming', 'temperature', 'effort'])
      await assert.rejects(ask(model, { ...QUESTION, reasoningEffort: 'high', tools: [tool(name)] }), /Invalid schema/);
    await ask(model, QUESTION);
    assert.deepEqual(bodyOf(provider), before);
  });

  it('is asked again as another one that was refused at the same time', async () => {
    await using provider = await refusing(({ stream_options: refused }) =>
      refused ? "Unsupported parameter: 'stream_options'" : undefined,
    );
    const { upstream, model } = chat(config({ main: { base_url: provider.url, max_retries: 0 } }));
    await using _ = upstream;
    const { respond } = provider;
    const four = provider.waitForRequest(4);
    provider.respond = async (request, n) => {
      if (n < 4) await four;
      return respond(request, n);
    };
    const turns = await Promise.all(Array.from({ length: 4 }, () => ask(model, QUESTION)));
    assert.deepEqual(turns.map(textOf), ['fine', 'fine', 'fine', 'fine']);
  });

  it('keeps what several turns learn at the same time', async () => {
    await using provider = await refusing((body) => {
      const refused = ['temperature', 'top_p', 'tool_choice'].find((name) => name in body);
      return refused && `Unsupported parameter: '${refused}'`;
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, max_retries: 0 } }));
    await using _ = upstream;
    const { respond } = provider;
    const three = provider.waitForRequest(3);
    provider.respond = async (request, n) => {
      if (n < 3) await three;
      return respond(request, n);
    };
    const asked = [{ temperature: 0.5 }, { topP: 0.9 }, { tools: [tool('search')], toolChoice: 'required' }] as const;
    await Promise.all(asked.map((fields) => ask(model, { ...QUESTION, ...fields })));
    await ask(model, { ...FULL, toolChoice: 'required' });
    assert.equal(provider.requests.length, 7, 'the last request needs no second attempt');
  });

  it('has safe tool names, which come back as the originals', async () => {
    const long = `server.${'x'.repeat(80)}`;
    await using provider = await startScriptedProvider({
      respond: ({ body }) =>
        turn({ toolCalls: body.tools?.map((offered) => ({ name: offered.function.name, arguments: '{}' })) ?? [] }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const names = ['web_search', 'github.search', 'github__search', long, '世界'];
    const parts = await ask(model, { ...QUESTION, tools: names.map((name) => tool(name)) });
    const sent: string[] = bodyOf(provider).tools?.map((offered) => offered.function.name) ?? [];
    for (const name of sent) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
    assert.equal(new Set(sent).size, names.length);
    assert.deepEqual(
      parts.flatMap((part) => (part.type === 'tool_call' ? [part.call.name] : [])),
      names,
    );
    assert.deepEqual(
      finishOf(parts).message.tool_calls?.map((call) => call.name),
      names,
    );
  });

  it('knows a tool by a name that its model or server changed', async () => {
    const tools = ['web_search', 'github.search', 'a_b', 'a.b'].map((name) => tool(name));
    const meant = {
      'functions.web_search:0': 'web_search',
      'web_search<|channel|>commentary': 'web_search',
      'web_search</arg_value>': 'web_search',
      'web-search': 'web_search',
      'functions.github__search': 'github.search',
      'a-b': 'a-b',
      'assistant<|channel|>analysis': 'assistant<|channel|>analysis',
    };
    const toolCalls = Object.keys(meant).map((name) => ({ name, arguments: '{}' }));
    await using provider = await startScriptedProvider({ respond: () => turn({ toolCalls }) });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const parts = await ask(model, { ...QUESTION, tools });
    assert.deepEqual(
      finishOf(parts).message.tool_calls?.map((call) => call.name),
      Object.values(meant),
    );
  });

  it("sends back only the provider's own reasoning, and only with tool calls", async () => {
    await using provider = await startScriptedProvider();
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const replay = (name: string) => ({
      provider: name,
      fields: { reasoning_content: 'Hm.', reasoning_details: [{ type: 'reasoning.encrypted', data: 'd' }] },
    });
    const fields = async (message: Partial<AssistantMessage>) => {
      await ask(model, { messages: afterCall(message) });
      const { role, content, tool_calls, ...rest } = bodyOf(provider).messages?.[1] ?? {};
      return rest;
    };
    assert.deepEqual(await fields({ replay: replay('other') }), {});
    assert.deepEqual(await fields({ replay: replay('main') }), {
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'd' }],
    });
    const plain = { provider: 'main', fields: { reasoning_content: 'Hm.' } };
    assert.deepEqual(await fields({ replay: plain }), { reasoning_content: 'Hm.' });
    assert.deepEqual(await fields({ replay: plain, content: 'Text.', tool_calls: [] }), {});
  });

  it('keeps image parts, joins text parts, and omits an empty assistant message', async () => {
    await using provider = await startScriptedProvider();
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } } as const;
    await ask(model, {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'one' },
            { type: 'text', text: 'two' },
          ],
        },
        { role: 'assistant', content: '' },
        { role: 'user', content: [{ type: 'text', text: 'see' }, image] },
      ],
    });
    assert.deepEqual(bodyOf(provider).messages, [
      { role: 'user', content: 'one\ntwo' },
      { role: 'user', content: [{ type: 'text', text: 'see' }, image] },
    ]);
  });

  it('repairs the arguments of earlier calls', async () => {
    await using provider = await startScriptedProvider();
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    await ask(model, {
      messages: afterCall({
        tool_calls: [
          { ...CALL, arguments: '{"queries": ["x"' },
          { ...CALL, arguments: 'no' },
        ],
      }),
    });
    const calls = bodyOf(provider).messages?.[1].tool_calls;
    assert.deepEqual(
      calls.map((call: { function: { arguments: string } }) => call.function.arguments),
      ['{"queries":["x"]}', '{"raw":"no"}'],
    );
  });

  it('follows the configured dialect', async () => {
    await using provider = await startScriptedProvider();
    const { upstream, model } = chat(config({ main: { base_url: provider.url, dialect: 'text_tools' } }));
    await using _ = upstream;
    await ask(model, FULL);
    assert.equal('tools' in bodyOf(provider), false);
  });

  it('keeps the query of a base URL at the end', async () => {
    await using provider = await startScriptedProvider();
    const { upstream, model } = chat(
      config({ main: { base_url: `${provider.url}/deployments/d?api-version=2024-10-21` } }),
    );
    await using _ = upstream;
    await ask(model);
    assert.equal(provider.requests[0]?.path, '/v1/deployments/d/chat/completions?api-version=2024-10-21');
  });
});
