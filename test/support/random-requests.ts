import fc from 'fast-check';

/** A generated request. */
export interface RandomRequest {
  method: string;
  /** Path with query, as it goes over the wire. */
  target: string;
  headers: [name: string, value: string][];
  body: Buffer;
}

/** Existing objects of the gateway that requests may name. */
export interface Known {
  /** Secrets of keys. */
  secrets: readonly string[];
  /** Ids of runs, of the key's user and of others. */
  ids: readonly string[];
  /** Ids of items of conversations. */
  items: readonly string[];
}

const FIELDS = [
  'model',
  'input',
  'messages',
  'stream',
  'background',
  'instructions',
  'previous_response_id',
  'max_output_tokens',
  'max_completion_tokens',
  'max_tool_calls',
  'temperature',
  'top_p',
  'metadata',
  'reasoning',
  'reasoning_effort',
  'tools',
  'tool_choice',
  'mcp_servers',
  'text',
  'response_format',
  'prompt',
  'n',
  'functions',
  '__proto__',
  'constructor',
  'conversation',
  'items',
] as const;

const word = fc.constantFrom(
  'user',
  'assistant',
  'message',
  'item_reference',
  'text',
  'input_text',
  'input_image',
  'mcp',
  'web_search',
  'function',
  'json_schema',
  'low',
  'auto',
  'toString',
  '__proto__',
  '\ud800',
  '',
);
const model = fc.constantFrom(
  'deep',
  'deep-eyes',
  'gpt',
  'gpt-chat',
  'org/model-1',
  'nope',
  'constructor',
  '__proto__',
  '',
);
const key = fc.oneof(
  fc.constantFrom(
    'type',
    'role',
    'content',
    'text',
    'id',
    'name',
    'url',
    'format',
    'effort',
    'schema',
    'image_url',
    '__proto__',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

/** JSON that resembles valid bodies, and much that does not. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    word,
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));
const body = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .tuple(
        model,
        fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), value), { maxLength: 6, selector: ([name]) => name }),
      )
      .map(([name, fields]) => JSON.stringify({ ...Object.fromEntries(fields), model: name })),
  },
  // Valid except for an added field; frequent enough that each endpoint accepts some.
  {
    weight: 12,
    arbitrary: fc
      .tuple(model, fc.array(fc.tuple(fc.constantFrom(...FIELDS), value), { maxLength: 2 }))
      .map(([name, fields]) => {
        const messages = [{ role: 'user', content: 'a' }];
        const good = { model: name, input: 'a', messages, items: messages, metadata: {} };
        return JSON.stringify({ ...good, ...Object.fromEntries(fields) });
      }),
  },
  { weight: 2, arbitrary: value.map((any) => JSON.stringify(any)) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 8 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
);
const raw = fc.oneof(
  { weight: 6, arbitrary: body.map((text) => Buffer.from(text)) },
  // A body that is cut off.
  {
    weight: 2,
    arbitrary: fc.tuple(body, fc.nat()).map(([text, at]) => Buffer.from(text).subarray(0, at % (text.length + 1))),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
);

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
/** Everything that a request line may contain, except control characters and spaces, which only raw clients can send. */
const letters = (from: number, to: number, most: number) => {
  const unit = fc.integer({ min: from, max: to }).map((code) => String.fromCharCode(code === 0x7f ? 0x7e : code));
  return fc.string({ unit, maxLength: most });
};
const visible = fc.oneof(
  { weight: 3, arbitrary: letters(0x21, 0x7e, 30).map((text) => encodeURIComponent(text)) },
  { weight: 1, arbitrary: letters(0x21, 0x7e, 30) },
);
const headerText = letters(0x20, 0xff, 60);
const number = fc.constantFrom(
  '0',
  '1',
  '-1',
  '20',
  '1001',
  '1e3',
  '99999999999999999999',
  '9007199254740993',
  'NaN',
  '+1',
  '0x1',
  '1.5',
);

function segment({ ids }: Known): fc.Arbitrary<string> {
  const swapped = fc
    .tuple(fc.constantFrom(...ids), fc.constantFrom('resp_', 'task_', 'chatcmpl-', ''))
    .map(([id, prefix]) => prefix + id.slice(id.search(/[_-]/) + 1));
  return fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...ids) },
    { weight: 2, arbitrary: swapped },
    {
      weight: 1,
      arbitrary: fc.constantFrom('resp_', '..', '.', '%2e%2e', '%00', '%ff', '%', 'a%2fb', '__proto__', 'cancel'),
    },
    { weight: 1, arbitrary: visible },
  );
}

function queryOf({ ids }: Known): fc.Arbitrary<string> {
  const name = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.constantFrom(
        'limit',
        'after',
        'before',
        'order',
        'status',
        'model',
        'stream',
        'starting_after',
        'format',
        'api-version',
      ),
    },
    { weight: 1, arbitrary: visible },
  );
  const value = fc.oneof(
    fc.constantFrom(
      'true',
      'false',
      'asc',
      'desc',
      'completed',
      'in_progress',
      'CREATED',
      'md',
      'html',
      'pdf',
      '',
      '%00',
      '%F0%9F%98%80',
    ),
    fc.constantFrom(...ids),
    number,
    number,
    visible,
  );
  const pairs = fc.array(fc.tuple(name, value), { maxLength: 3 });
  return pairs.map((all) => (all.length === 0 ? '' : `?${all.map(([key, text]) => `${key}=${text}`).join('&')}`));
}

function headersOf({ secrets }: Known): fc.Arbitrary<[string, string][]> {
  const authorization = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...secrets).map((secret) => `Bearer ${secret}`) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...secrets)
        .chain((secret) => fc.constantFrom(`bearer  ${secret}`, secret, `Basic ${secret}`, `Bearer ${secret}, x`)),
    },
    { weight: 1, arbitrary: headerText },
  );
  const type = fc.oneof(
    { weight: 12, arbitrary: fc.constant('application/json') },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        'application/json; charset=utf-8',
        'application/json; charset=utf-16',
        'text/plain',
        'multipart/form-data; boundary=b',
        'multipart/form-data',
        ';',
        'APPLICATION/JSON',
      ),
    },
    { weight: 1, arbitrary: headerText },
  );
  const other = fc.tuple(
    fc.constantFrom(
      ...[
        'accept',
        'accept-encoding',
        'content-encoding',
        'cookie',
        'expect',
        'forwarded',
        'idempotency-key',
        'if-none-match',
      ],
      ...[
        'last-event-id',
        'origin',
        'range',
        'referer',
        'te',
        'traceparent',
        'tracestate',
        'user-agent',
        'x-api-key',
        'x-forwarded-for',
      ],
      ...[
        'x-forwarded-proto',
        'x-http-method-override',
        'x-request-id',
        'x-stainless-retry-count',
        'openai-beta',
        'access-control-request-method',
      ],
    ),
    fc.oneof(
      headerText,
      number,
      fc.constantFrom(
        'application/json',
        'text/event-stream',
        'gzip',
        'identity',
        'null',
        'http://evil.example',
        'bytes=0-1',
        'DELETE',
        'x'.repeat(4000),
      ),
    ),
  );
  return fc
    .tuple(fc.option(authorization, { freq: 20 }), fc.option(type, { freq: 20 }), fc.array(other, { maxLength: 4 }))
    .map(([auth, media, others]) => [
      ...(auth === null ? [] : [['authorization', auth] as [string, string]]),
      ...(media === null ? [] : [['content-type', media] as [string, string]]),
      ...others,
    ]);
}

/** Requests that resemble valid ones of an endpoint (`path` as in OpenAPI), and many that do not. */
export function randomRequest(endpoint: { method: string; path: string }, known: Known): fc.Arbitrary<RandomRequest> {
  const path = fc
    .tuple(
      segment(known),
      fc.constantFrom(...known.items),
      fc.oneof({ weight: 19, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: visible }),
    )
    .map(([id, item, more]) => {
      return endpoint.path.replace('{id}', id).replace('{item}', item) + (more === null ? '' : `/${more}`);
    });
  const method = fc.oneof(
    { weight: 12, arbitrary: fc.constant(endpoint.method) },
    { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
  );
  const takesBody = endpoint.method === 'POST';
  return fc.record({
    method,
    target: fc.tuple(path, takesBody ? fc.constant('') : queryOf(known)).map(([start, query]) => start + query),
    headers: headersOf(known),
    body: takesBody
      ? raw
      : fc.oneof({ weight: 8, arbitrary: fc.constant(Buffer.alloc(0)) }, { weight: 1, arbitrary: raw }),
  });
}
