import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '../../src/base/json.ts';
import { json, type ProviderRequest, raw, type Script, status } from './scripted-provider.ts';

/** A server of a wire that refuses what the real services refuse, and calls a tool `calls` times. */
export interface StrictServer {
  respond(request: ProviderRequest): Script;
  /** Requests that were refused, with the reason. */
  readonly refusals: string[];
}

/** The call of one turn. */
export type CalledTool = (turn: number) => { name: string; arguments: string };

const lookUp: CalledTool = (turn) => ({ name: 'look_up', arguments: `{"n":${turn}}` });

type Item = Record<string, unknown>;

const items = (value: unknown): Item[] => (Array.isArray(value) ? value.filter(isObject) : []);
const digest = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24);
const events = (payloads: readonly object[]): Script =>
  raw(payloads.map((payload) => `event: x\ndata: ${JSON.stringify(payload)}\n\n`).join(''));

class Refused extends Error {}

function refuse(condition: boolean, message: string): void {
  if (condition) throw new Refused(message);
}

/** OpenAI's Responses API without a store: every item must be sent back unchanged, each call with its output. */
export function strictResponses(calls: number, tool: CalledTool = lookUp): StrictServer {
  /** What came before each item with an id, as it was sent. */
  const before = new Map<string, string | undefined>();
  const sent = new Map<string, string>();
  const refusals: string[] = [];

  function check(body: Item): Item[] {
    refuse(body.store !== false, 'store must be false');
    refuse(!String(body.include).includes('reasoning.encrypted_content'), 'the reasoning would be lost');
    refuse('temperature' in body, "Unsupported parameter: 'temperature' is not supported with this model.");
    for (const tool of items(body.tools)) refuse(tool.strict !== false || 'function' in tool, 'tools are flat');
    const input = items(body.input);
    const open = new Set<unknown>();
    const seen = new Set<unknown>();
    for (const [n, item] of input.entries()) {
      if (item.type === 'function_call') {
        refuse(seen.has(item.call_id), `Duplicate call_id ${item.call_id}`);
        seen.add(item.call_id);
        open.add(item.call_id);
      }
      if (item.type === 'function_call_output') {
        refuse(!open.delete(item.call_id), `No tool call found for function call output ${item.call_id}.`);
      }
      if (typeof item.id !== 'string') continue;
      const wanted = before.get(item.id);
      refuse(
        !before.has(item.id),
        `Item with id '${item.id}' not found. Items are not persisted when \`store\` is false.`,
      );
      refuse(
        wanted !== undefined && input[n - 1]?.id !== wanted,
        `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${wanted}'.`,
      );
      if (item.type !== 'reasoning') continue;
      refuse(!Array.isArray(item.summary), `Input[${n}] missing required field \`summary\``);
      refuse(item.encrypted_content !== sent.get(item.id), 'The encrypted content could not be verified.');
      refuse(
        typeof input[n + 1]?.id !== 'string',
        `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
      );
    }
    refuse(open.size > 0, `No tool output found for function call ${[...open][0]}.`);
    return input;
  }

  function answer(input: readonly Item[]): Script {
    const turn = input.filter((item) => item.type === 'function_call_output').length;
    const thought = `rs_${turn}_${digest(input)}`;
    const next = `${turn < calls ? 'fc' : 'msg'}_${turn}_${digest(input)}`;
    const reasoning = { type: 'reasoning', id: thought, summary: [{ type: 'summary_text', text: `Thought ${turn}.` }] };
    before.set(thought, undefined);
    before.set(next, thought);
    sent.set(thought, `enc-${thought}`);
    const second =
      turn < calls
        ? { type: 'function_call', id: next, call_id: `call_${turn}`, ...tool(turn) }
        : { type: 'message', id: next, role: 'assistant', content: [{ type: 'output_text', text: 'All found.' }] };
    const done = [
      { ...reasoning, encrypted_content: sent.get(thought) },
      { ...second, status: 'completed' },
    ];
    return events([
      { type: 'response.created', response: { object: 'response', status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, encrypted_content: 'not final' } },
      {
        type: 'response.reasoning_summary_text.delta',
        output_index: 0,
        item_id: 'rotating',
        delta: `Thought ${turn}.`,
      },
      { type: 'response.output_item.done', output_index: 0, item: done[0] },
      { type: 'response.output_item.added', output_index: 1, item: second },
      { type: 'response.output_item.done', output_index: 1, item: done[1] },
      {
        type: 'response.completed',
        response: {
          object: 'response',
          status: 'completed',
          output: [{ ...reasoning, encrypted_content: 'another one' }, done[1]],
          usage: { input_tokens: 20, input_tokens_details: { cached_tokens: 5 }, output_tokens: 7, total_tokens: 27 },
        },
      },
    ]);
  }

  return server(
    refusals,
    ({ body }) => answer(check(body)),
    (message) => ({
      error: { message, type: 'invalid_request_error', param: null, code: null },
    }),
  );
}

/** Anthropic's Messages API: thoughts are bound to everything before them. */
export function strictMessages(
  calls: number,
  { thinks, tool = lookUp }: { thinks: 'adaptive' | 'enabled'; tool?: CalledTool },
): StrictServer {
  const signatures = new Map<string, string>();
  const refusals: string[] = [];
  const prefixOf = (body: Item, count: number) =>
    digest([bare(body.system), bare(body.tools), bare(items(body.messages).slice(0, count))]);

  function check({ body, headers }: ProviderRequest): Item[] {
    refuse(
      headers['x-api-key'] === undefined || headers['anthropic-version'] === undefined,
      'x-api-key: Field required',
    );
    const maxTokens = Number(body.max_tokens ?? Number.NaN);
    refuse(Number.isNaN(maxTokens), 'max_tokens: Field required');
    const { thinking } = body;
    const type = isObject(thinking) ? thinking.type : undefined;
    refuse(
      type === 'adaptive' && thinks === 'enabled',
      "thinking.type: Input tag 'adaptive' does not match 'disabled', 'enabled'",
    );
    refuse(
      type === 'enabled' && thinks === 'adaptive',
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    );
    refuse(
      type === 'enabled' && !(Number(isObject(thinking) && thinking.budget_tokens) < maxTokens),
      '`max_tokens` must be greater than `thinking.budget_tokens`.',
    );
    refuse(type !== undefined && 'temperature' in body, '`temperature` may only be set to 1 when thinking is enabled.');
    refuse(
      JSON.stringify(body).split('"cache_control"').length - 1 > 4,
      'A maximum of 4 blocks with cache_control may be provided.',
    );
    const messages = items(body.messages);
    refuse(messages.length === 0, 'messages: at least one message is required');
    let open: unknown[] = [];
    for (const [n, { role, content }] of messages.entries()) {
      const blocks = items(content);
      refuse(role !== (n % 2 === 0 ? 'user' : 'assistant'), `messages.${n}: roles must alternate`);
      refuse(blocks.length === 0, `messages.${n}: content must not be empty`);
      const results = blocks.findIndex((block) => block.type !== 'tool_result');
      const answered = blocks.slice(0, results === -1 ? blocks.length : results).map((block) => block.tool_use_id);
      refuse(
        open.some((id) => !answered.includes(id)),
        `messages.${n}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open}.`,
      );
      open = blocks.filter((block) => block.type === 'tool_use').map((block) => block.id);
      refuse(
        open.length > 0 && items(body.tools).length === 0,
        'Requests which include `tool_use` or `tool_result` blocks must define tools',
      );
      for (const id of open)
        refuse(!/^[a-zA-Z0-9_-]{1,64}$/.test(String(id)), `tool_use.id: String should match pattern`);
      const isLast = n === messages.length - 2 && open.length > 0;
      const starts = blocks[0]?.type === 'thinking';
      refuse(
        isLast && type === 'enabled' && !starts,
        `messages.${n}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`.`,
      );
      for (const [at, block] of blocks.entries()) {
        if (block.type !== 'thinking') continue;
        const bound = signatures.get(String(block.signature));
        refuse(bound === undefined, `messages.${n}.content.${at}: Invalid \`signature\` in \`thinking\` block`);
        refuse(
          bound !== prefixOf(body, n) + String(block.thinking),
          `messages.${n}.content.${at}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation.`,
        );
      }
    }
    return messages;
  }

  function answer(body: Item, messages: readonly Item[]): Script {
    const turn = messages
      .flatMap(({ content }) => items(content))
      .filter((block) => block.type === 'tool_result').length;
    const thinking = `Thought ${turn}.`;
    const signature = `sig-${turn}-${digest(messages)}`;
    signatures.set(signature, prefixOf(body, messages.length) + thinking);
    const last =
      turn < calls
        ? [
            {
              type: 'content_block_start',
              index: 1,
              content_block: {
                type: 'tool_use',
                id: `toolu_${turn}`,
                name: tool(turn).name,
                input: {},
                caller: { type: 'direct' },
              },
            },
            { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '' } },
            {
              type: 'content_block_delta',
              index: 1,
              delta: { type: 'input_json_delta', partial_json: tool(turn).arguments },
            },
          ]
        : [
            { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
            { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'All found.' } },
          ];
    return events([
      {
        type: 'message_start',
        message: {
          type: 'message',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 9, cache_read_input_tokens: 4, cache_creation_input_tokens: 2, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature } },
      { type: 'content_block_stop', index: 0 },
      ...last,
      { type: 'content_block_stop', index: 1 },
      {
        type: 'message_delta',
        delta: { stop_reason: turn < calls ? 'tool_use' : 'end_turn' },
        usage: { output_tokens: 7 },
      },
      { type: 'message_stop' },
    ]);
  }

  return server(
    refusals,
    (request) => answer(request.body, check(request)),
    (message) => ({
      type: 'error',
      error: { type: 'invalid_request_error', message },
      request_id: 'req_0',
    }),
  );
}

/** Removes cache markers, which are not part of the thread. */
function bare(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, (key, inner) => (key === 'cache_control' ? undefined : inner)));
}

function server(
  refusals: string[],
  answer: (request: ProviderRequest) => Script,
  errorOf: (message: string) => JsonObject,
): StrictServer {
  return {
    refusals,
    respond(request) {
      try {
        return answer(request);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        refusals.push(error.message);
        return { ...json(errorOf(error.message)), status: status(400).status };
      }
    },
  };
}
