/** A request for every part of the Responses API that the types of the official SDK name. */

export type Body = Record<string, unknown>;
/** Objects that requests refer to. */
export interface Given {
  /** The id of a vector store. */
  store: string;
  response: string;
  /** The id of an output item of `response`. */
  item: string;
  /** An item that `POST /v1/responses/compact` returned. */
  compaction: Body;
  conversation: string;
}

export const PARAMETERS: Record<string, (given: Given) => Body> = {
  access_programs: () => ({ access_programs: ['a'] }),
  background: () => ({ background: true }),
  background_options: () => ({ background: true, background_options: { completion_window: '2h' } }),
  context_management: () => ({ context_management: [{ type: 'compaction', compact_threshold: 50_000 }] }),
  conversation: ({ conversation }) => ({ conversation }),
  image: () => ({ image: { detail: 'auto' } }),
  include: () => ({ include: ['reasoning.encrypted_content'] }),
  input: () => ({ input: [{ role: 'user', content: 'Hello' }] }),
  instructions: () => ({ instructions: 'Be short.' }),
  max_output_tokens: () => ({ max_output_tokens: 500 }),
  max_tool_calls: () => ({ max_tool_calls: 3 }),
  metadata: () => ({ metadata: { a: 'b' } }),
  model: () => ({}),
  moderation: () => ({ moderation: { model: 'm' } }),
  // It is about functions: research models ignore it without them.
  parallel_tool_calls: () => ({ parallel_tool_calls: false, tools: [FUNCTION] }),
  previous_response_id: ({ response }) => ({ previous_response_id: response }),
  prompt: () => ({ prompt: { id: 'pmpt_1' } }),
  prompt_cache_key: () => ({ prompt_cache_key: 'a' }),
  prompt_cache_options: () => ({ prompt_cache_options: { ttl: '1h' } }),
  prompt_cache_retention: () => ({ prompt_cache_retention: '24h' }),
  reasoning: () => ({ reasoning: { effort: 'low', summary: 'auto' } }),
  safety_identifier: () => ({ safety_identifier: 'a' }),
  service_tier: () => ({ service_tier: 'flex' }),
  store: () => ({ store: false }),
  stream: () => ({ stream: true }),
  stream_options: () => ({ stream: true, stream_options: { include_obfuscation: false } }),
  temperature: () => ({ temperature: 0.2 }),
  text: () => ({ text: { format: { type: 'json_object' } } }),
  tool_choice: () => ({ tool_choice: 'auto' }),
  tools: () => ({ tools: [{ type: 'web_search' }] }),
  top_logprobs: () => ({ top_logprobs: 2 }),
  top_p: () => ({ top_p: 0.5 }),
  truncation: () => ({ truncation: 'auto' }),
  user: () => ({ user: 'a' }),
};

const FUNCTION = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false };
export const TOOLS: Record<string, Body> = {
  FunctionTool: FUNCTION,
  FileSearchTool: { type: 'file_search', vector_store_ids: ['vs_1'] },
  ComputerTool: { type: 'computer' },
  ComputerUsePreviewTool: { type: 'computer_use_preview', display_height: 1, display_width: 1, environment: 'linux' },
  WebSearchTool: { type: 'web_search' },
  'Tool.Mcp': { type: 'mcp', server_label: 'desk', server_url: 'https://desk.example/mcp', require_approval: 'never' },
  'Tool.CodeInterpreter': { type: 'code_interpreter', container: { type: 'auto' } },
  'Tool.ProgrammaticToolCalling': { type: 'programmatic_tool_calling' },
  'Tool.ImageGeneration': { type: 'image_generation' },
  'Tool.LocalShell': { type: 'local_shell' },
  FunctionShellTool: { type: 'shell' },
  CustomTool: { type: 'custom', name: 'c' },
  NamespaceTool: { type: 'namespace', name: 'n', description: '', tools: [FUNCTION] },
  ToolSearchTool: { type: 'tool_search' },
  WebSearchPreviewTool: { type: 'web_search_preview' },
  ApplyPatchTool: { type: 'apply_patch' },
};

const call = { call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' };
const ASKED = { type: 'mcp_approval_request', id: 'm', server_label: 'desk', name: 'a', arguments: '{}' };
const ANSWERED = { type: 'mcp_approval_response', approval_request_id: 'm' };
export const ITEMS: Record<string, (given: Given) => Body[]> = {
  EasyInputMessage: () => [{ role: 'user', content: 'a' }],
  'ResponseInputItem.Message': () => [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }], status: 'completed' },
  ],
  ResponseOutputMessage: () => [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'a', annotations: [] }],
    },
  ],
  ResponseFileSearchToolCall: () => [{ type: 'file_search_call', id: 'fs_1', queries: ['a'], status: 'completed' }],
  ResponseComputerToolCall: () => [
    { type: 'computer_call', id: 'cu_1', call_id: 'c', action: { type: 'wait' }, pending_safety_checks: [] },
  ],
  'ResponseInputItem.ComputerCallOutput': () => [
    {
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url: 'https://a.example/b' },
    },
  ],
  ResponseFunctionWebSearch: () => [
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'a' } },
  ],
  ResponseFunctionToolCall: () => [
    { type: 'function_call', ...call },
    { type: 'function_call_output', call_id: 'call_1', output: 'b' },
  ],
  'ResponseInputItem.FunctionCallOutput': () => [{ type: 'function_call_output', call_id: 'call_1', output: 'b' }],
  'ResponseInputItem.ToolSearchCall': () => [{ type: 'tool_search_call', arguments: {} }],
  ResponseToolSearchOutputItemParam: () => [{ type: 'tool_search_output', tools: [] }],
  'ResponseInputItem.AdditionalTools': () => [{ type: 'additional_tools', role: 'developer', tools: [FUNCTION] }],
  ResponseConfigurationUpdateItemParam: () => [{ type: 'configuration_update', reasoning: { effort: 'high' } }],
  ResponseReasoningItem: () => [{ type: 'reasoning', id: 'rs_1', summary: [] }],
  ResponseCompactionItemParam: ({ compaction }) => [compaction],
  'ResponseInputItem.ImageGenerationCall': () => [
    { type: 'image_generation_call', id: 'ig_1', result: 'iVBORw0KGgo=', status: 'completed' },
  ],
  ResponseCodeInterpreterToolCall: () => [
    { type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'c', outputs: [], status: 'completed' },
  ],
  'ResponseInputItem.LocalShellCall': () => [
    {
      type: 'local_shell_call',
      id: 'l',
      call_id: 'c',
      action: { type: 'exec', command: ['ls'], env: {} },
      status: 'completed',
    },
    { type: 'local_shell_call_output', id: 'l', output: 'b' },
  ],
  'ResponseInputItem.LocalShellCallOutput': () => [{ type: 'local_shell_call_output', id: 'c', output: 'b' }],
  'ResponseInputItem.ShellCall': () => [
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
    { type: 'shell_call_output', call_id: 'c', output: [] },
  ],
  'ResponseInputItem.ShellCallOutput': () => [{ type: 'shell_call_output', call_id: 'c', output: [] }],
  'ResponseInputItem.ApplyPatchCall': () => [
    { type: 'apply_patch_call', call_id: 'c', status: 'completed', operation: { type: 'delete_file', path: 'a' } },
    { type: 'apply_patch_call_output', call_id: 'c', status: 'completed' },
  ],
  'ResponseInputItem.ApplyPatchCallOutput': () => [
    { type: 'apply_patch_call_output', call_id: 'c', status: 'completed', output: 'b' },
  ],
  'ResponseInputItem.McpListTools': () => [{ type: 'mcp_list_tools', id: 'm', server_label: 'desk', tools: [] }],
  'ResponseInputItem.McpApprovalRequest': () => [ASKED, { ...ANSWERED, approve: false }],
  // The table names the first item; the two belong together.
  'ResponseInputItem.McpApprovalResponse': () => [{ ...ANSWERED, approve: false }, ASKED],
  'ResponseInputItem.McpCall': () => [
    { type: 'mcp_call', id: 'm', server_label: 'desk', name: 'a', arguments: '{}', output: 'b' },
  ],
  ResponseCustomToolCallOutput: () => [{ type: 'custom_tool_call_output', call_id: 'c', output: 'b' }],
  ResponseCustomToolCall: () => [
    { type: 'custom_tool_call', call_id: 'c', name: 'a', input: 'b' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'b' },
  ],
  'ResponseInputItem.CompactionTrigger': () => [{ type: 'compaction_trigger' }],
  'ResponseInputItem.ItemReference': ({ item }) => [{ type: 'item_reference', id: item }],
  'ResponseInputItem.Program': () => [{ type: 'program', id: 'p', call_id: 'c', code: 'a', fingerprint: 'f' }],
  'ResponseInputItem.ProgramOutput': () => [
    { type: 'program_output', id: 'p', call_id: 'c', result: 'b', status: 'completed' },
  ],
};

/** `tool_choice` in every form, with the tool that it names. `allowed_tools` names one of each kind that it may. */
export const CHOICES: Record<string, { tool?: Body; choice: unknown }> = {
  '"none"': { choice: 'none' },
  '"auto"': { choice: 'auto' },
  '"required"': { choice: 'required' },
  function: { choice: { type: 'function', name: 'f' } },
  'function in a namespace': {
    tool: { ...TOOLS.NamespaceTool },
    choice: { type: 'function', name: 'f', namespace: 'n' },
  },
  custom: { tool: { ...TOOLS.CustomTool }, choice: { type: 'custom', name: 'c' } },
  mcp: { tool: { ...TOOLS['Tool.Mcp'] }, choice: { type: 'mcp', server_label: 'desk' } },
  file_search: { tool: { ...TOOLS.FileSearchTool }, choice: { type: 'file_search' } },
  web_search_preview: { tool: { ...TOOLS.WebSearchPreviewTool }, choice: { type: 'web_search_preview' } },
  web_search_preview_2025_03_11: {
    tool: { ...TOOLS.WebSearchPreviewTool },
    choice: { type: 'web_search_preview_2025_03_11' },
  },
  code_interpreter: { tool: { ...TOOLS['Tool.CodeInterpreter'] }, choice: { type: 'code_interpreter' } },
  shell: { tool: { ...TOOLS.FunctionShellTool }, choice: { type: 'shell' } },
  apply_patch: { tool: { ...TOOLS.ApplyPatchTool }, choice: { type: 'apply_patch' } },
  image_generation: { choice: { type: 'image_generation' } },
  computer: { choice: { type: 'computer' } },
  computer_use: { choice: { type: 'computer_use' } },
  computer_use_preview: { choice: { type: 'computer_use_preview' } },
  programmatic_tool_calling: { choice: { type: 'programmatic_tool_calling' } },
  'allowed_tools: function': { choice: allowing({ type: 'function', name: 'f' }) },
  'allowed_tools: web_search': { tool: { ...TOOLS.WebSearchTool }, choice: allowing({ type: 'web_search' }) },
  'allowed_tools: mcp': { tool: { ...TOOLS['Tool.Mcp'] }, choice: allowing({ type: 'mcp', server_label: 'desk' }) },
  'allowed_tools: namespace': { tool: { ...TOOLS.NamespaceTool }, choice: allowing({ type: 'namespace', name: 'n' }) },
};

function allowing(tool: object) {
  return { type: 'allowed_tools', mode: 'auto', tools: [tool] };
}
