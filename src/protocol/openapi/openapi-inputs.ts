/**
 * Schemas of inputs that are chosen by looking at the value (`chosenBy`), for the API description. The parser in
 * `requests.ts` is what binds.
 */

const text = { type: 'string' } as const;
const object = (properties: Record<string, unknown>, required: string[]) => ({
  type: 'object' as const,
  properties,
  required,
});
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const literal = (...values: string[]) => ({ type: 'string', enum: values });
const arrayOf = (items: Record<string, unknown>) => ({ type: 'array', items });

const role = literal('user', 'assistant', 'system', 'developer');
const jsonSchema = { name: text, schema: { type: 'object' }, strict: { type: 'boolean' }, description: text };

/** By component name. */
export const inputComponents = {
  ContentPart: {
    anyOf: [
      object({ type: literal('input_text', 'output_text', 'text'), text }, ['type', 'text']),
      {
        ...object(
          {
            type: literal('input_image', 'image_url'),
            image_url: { anyOf: [text, object({ url: text }, ['url'])], description: 'An https or data URL.' },
          },
          ['type', 'image_url'],
        ),
        description: 'Only for models that read images.',
      },
    ],
  },
  PriorItem: {
    description: 'A call of a tool that ran elsewhere, or its output: becomes context, or is dropped.',
    ...object(
      {
        type: literal(
          'function_call',
          'function_call_output',
          'web_search_call',
          'file_search_call',
          'code_interpreter_call',
          'mcp_call',
          'mcp_list_tools',
          'image_generation_call',
        ),
      },
      ['type'],
    ),
    additionalProperties: true,
  },
  Content: { anyOf: [text, arrayOf(reference('ContentPart'))] },
  InputMessage: object({ type: literal('message'), role, content: reference('Content') }, ['role', 'content']),
  InputItem: {
    description: 'A message, or an item copied from an earlier `output`.',
    anyOf: [
      reference('InputMessage'),
      object({ type: literal('item_reference'), id: text }, ['type', 'id']),
      {
        ...object({ type: literal('tool_call'), name: text, arguments: text, result: text }, ['type', 'name']),
        description: 'Becomes context.',
      },
      {
        ...object({ type: literal('reasoning') }, ['type']),
        description: 'Accepted and dropped.',
        additionalProperties: true,
      },
      reference('PriorItem'),
    ],
  },
  Input: {
    description: 'A prompt, or items with at least one user message that has text.',
    anyOf: [
      { type: 'string', minLength: 1 },
      { ...arrayOf(reference('InputItem')), minItems: 1, maxItems: 10_000 },
    ],
  },
  ChatMessage: {
    anyOf: [
      object({ role, content: reference('Content') }, ['role', 'content']),
      {
        description: 'What an assistant said or called, and what a tool answered: becomes context.',
        ...object(
          {
            role: literal('assistant', 'tool', 'function'),
            content: { anyOf: [reference('Content'), { type: 'null' }] },
            refusal: { type: ['string', 'null'] },
            tool_calls: arrayOf({ type: 'object', additionalProperties: true }),
            tool_call_id: text,
            name: text,
          },
          ['role'],
        ),
      },
    ],
  },
  Tool: {
    description: 'Tools that run on the server. Where any is named, only the named ones are used.',
    anyOf: [
      object(
        {
          type: literal('web_search', 'web_search_preview'),
          filters: object({ allowed_domains: arrayOf(text) }, []),
          user_location: object(
            { type: literal('approximate'), country: text, city: text, region: text, timezone: text },
            [],
          ),
          search_context_size: literal('low', 'medium', 'high'),
        },
        ['type'],
      ),
      object({ type: literal('code_interpreter') }, ['type']),
      object(
        {
          type: literal('mcp'),
          server_label: text,
          server_url: { type: 'string', format: 'uri' },
          headers: { type: 'object', additionalProperties: text },
          authorization: text,
          allowed_tools: arrayOf(text),
        },
        ['type', 'server_label', 'server_url'],
      ),
    ],
  },
  McpServer: object(
    {
      name: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
      url: { type: 'string', format: 'uri' },
      headers: { type: 'object', additionalProperties: text },
      access_token: text,
      allowed_tools: arrayOf(text),
      oauth: object({ client_id: text, client_secret: text, token_url: text, issuer: text, scope: text }, [
        'client_id',
        'client_secret',
      ]),
    },
    ['name', 'url'],
  ),
  TextFormat: {
    anyOf: [
      object({ type: literal('text', 'json_object') }, ['type']),
      object({ type: literal('json_schema'), ...jsonSchema }, ['type', 'schema']),
    ],
  },
  ResponseFormat: {
    anyOf: [
      object({ type: literal('text', 'json_object') }, ['type']),
      object({ type: literal('json_schema'), json_schema: object(jsonSchema, ['schema']) }, ['type', 'json_schema']),
    ],
  },
};
