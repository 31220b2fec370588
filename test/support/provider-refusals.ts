/** A real error answer of a provider. */
export interface Refusal {
  who: string;
  status: number;
  body: unknown;
}

const openai = (message: string, code: string | null = null, fields: object = {}) => ({
  error: { message, type: 'invalid_request_error', param: null, code, ...fields },
});
const google = (message: string, status: string, reason?: string) => ({
  code: 400,
  message,
  status,
  ...(reason && { details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }] }),
});
const anthropic = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } });

const GEMINI_KEY = google('API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT', 'API_KEY_INVALID');

/** Refusals of the operator's key, about which the client can do nothing. */
export const KEY_REFUSALS: readonly Refusal[] = [
  {
    who: 'xAI',
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: 'Incorrect API key provided: xa***ey. You can obtain an API key from https://console.x.ai.',
    },
  },
  { who: 'Gemini', status: 400, body: { error: GEMINI_KEY } },
  { who: 'Gemini, in a list', status: 400, body: [{ error: GEMINI_KEY }] },
  {
    who: 'Gemini, expired',
    status: 400,
    body: { error: google('API key expired. Please renew the API key.', 'INVALID_ARGUMENT') },
  },
  { who: 'OpenAI, by code', status: 400, body: openai('No.', 'invalid_api_key') },
  { who: 'a relay', status: 400, body: { detail: 'Invalid access token' } },
  { who: 'a proxy in front of the provider', status: 407, body: { message: 'No.' } },
  { who: 'OpenAI', status: 401, body: openai('Incorrect API key provided: sk-x.', 'invalid_api_key') },
  { who: 'any provider', status: 403, body: openai('You are not allowed to do this.') },
];

/** Refusals that concern the route: its credit, model, region or capabilities. */
export const ROUTE_REFUSALS: readonly Refusal[] = [
  {
    who: 'Anthropic, credit',
    status: 400,
    body: anthropic('Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.'),
  },
  {
    who: 'Anthropic, usage',
    status: 400,
    body: anthropic('You have reached your specified API usage limits. You will regain access on 2026-12-01.'),
  },
  {
    who: 'OpenAI, billing',
    status: 400,
    body: openai('Billing hard limit has been reached', 'billing_hard_limit_reached'),
  },
  {
    who: 'LiteLLM, budget',
    status: 400,
    body: {
      error: { message: 'Budget has been exceeded! Current cost: 10.1, Max budget: 10.0', type: 'budget_exceeded' },
    },
  },
  { who: 'LM Studio, nothing loaded', status: 400, body: { error: 'No models loaded. Please load a model first.' } },
  {
    who: 'LM Studio, a crash',
    status: 400,
    body: { error: 'The model has crashed without additional information. (Exit code: 1844)' },
  },
  { who: 'LM Studio, unloaded', status: 400, body: { error: 'Model unloaded.' } },
  { who: 'DashScope, access', status: 400, body: openai('Model access denied.', 'Model.AccessDenied') },
  { who: 'DashScope, streams', status: 400, body: openai('This model only support stream mode, please enable it.') },
  {
    who: 'DashScope, thinking',
    status: 400,
    body: openai('parameter.enable_thinking must be set to false for non-streaming calls', 'invalid_parameter_error'),
  },
  { who: 'Groq, terms', status: 400, body: openai('The model `x` requires terms acceptance.', 'model_terms_required') },
  {
    who: 'Groq, a call',
    status: 400,
    body: openai('Failed to call a function. Adjust your prompt.', 'tool_use_failed'),
  },
  {
    who: 'Anthropic, answer length',
    status: 400,
    body: anthropic('max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude'),
  },
  {
    who: 'OpenAI, answer length',
    status: 400,
    body: openai(
      'max_tokens is too large: 100000. This model supports at most 4096 completion tokens.',
      'invalid_value',
    ),
  },
  {
    who: 'vLLM, images',
    status: 400,
    body: { object: 'error', message: 'foo is not a multimodal model', code: 400 },
  },
  { who: 'DashScope, credit', status: 400, body: { code: 'Arrearage', message: 'Access denied.' } },
  { who: 'DeepSeek, credit', status: 402, body: openai('Insufficient Balance', 'invalid_request_error') },
  { who: 'OpenRouter, credit', status: 402, body: { error: { code: 402, message: 'Insufficient credits.' } } },
  { who: 'OpenAI, model', status: 400, body: openai("The requested model 'x' does not exist.", 'model_not_found') },
  { who: 'OpenRouter, model', status: 400, body: { error: { code: 400, message: 'a/b is not a valid model ID' } } },
  {
    who: 'Groq, model',
    status: 400,
    body: openai('The model `x` has been decommissioned and is no longer supported.', 'model_decommissioned'),
  },
  { who: 'Mistral, model', status: 400, body: { object: 'error', message: 'Invalid model: x', type: 'invalid_model' } },
  { who: 'DeepSeek, model', status: 400, body: openai('Model Not Exist', 'invalid_request_error') },
  { who: 'GitHub, model', status: 400, body: { error: { code: 'unknown_model', message: 'Unknown model: x' } } },
  {
    who: 'Hugging Face, model',
    status: 400,
    body: openai("The requested model 'x' is not supported by any provider you have enabled.", 'model_not_supported'),
  },
  { who: 'Bedrock, model', status: 400, body: { message: 'The provided model identifier is invalid.' } },
  {
    who: 'Azure, deployment',
    status: 404,
    body: { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
  },
  {
    who: 'Azure, operation',
    status: 400,
    body: { error: { code: 'OperationNotSupported', message: 'The chatCompletion operation does not work.' } },
  },
  { who: 'Ollama, tools', status: 400, body: openai('registry.ollama.ai/library/x does not support tools') },
  {
    who: 'Gemini, region',
    status: 400,
    body: { error: google('User location is not supported for the API use.', 'FAILED_PRECONDITION') },
  },
  {
    who: 'Groq, organisation',
    status: 400,
    body: openai('Organization has been restricted.', 'organization_restricted'),
  },
  {
    who: 'OpenAI, verification',
    status: 400,
    body: openai('Your organization must be verified to stream this model.', 'unsupported_value'),
  },
  {
    who: 'OpenAI, parameter',
    status: 400,
    body: openai("Unsupported parameter: 'temperature' is not supported with this model.", 'unsupported_parameter'),
  },
  { who: 'OpenAI, argument', status: 400, body: openai('Unrecognized request argument supplied: foo') },
  { who: 'Anthropic, parameter', status: 400, body: anthropic('foo: Extra inputs are not permitted') },
  {
    who: 'Mistral, parameter',
    status: 422,
    body: { detail: [{ type: 'extra_forbidden', loc: ['body', 'foo'], msg: 'Extra inputs are not permitted' }] },
  },
  { who: 'Groq, parameter', status: 400, body: openai("property 'foo' is unsupported, did you mean 'bar'?") },
  {
    who: 'Gemini, parameter',
    status: 400,
    body: {
      error: google('Invalid JSON payload received. Unknown name "foo": Cannot find field.', 'INVALID_ARGUMENT'),
    },
  },
  {
    who: 'DeepSeek, role',
    status: 422,
    body: openai('messages[0].role: unknown variant `developer`, expected one of `system`, `user`'),
  },
  { who: 'xAI, parameter', status: 400, body: { code: 'x', error: 'Argument not supported on this model: stop' } },
  {
    who: 'OpenRouter, of another provider',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'Provider returned error',
        metadata: { raw: JSON.stringify(openai('The model `x` does not exist', 'model_not_found')) },
      },
    },
  },
];

/** Refusals that concern the request: every provider would refuse it. */
export const REQUEST_REFUSALS: readonly Refusal[] = [
  {
    who: 'OpenAI, schema',
    status: 400,
    body: openai("Invalid schema for response_format 'x': 'oneOf' is not permitted.", 'invalid_json_schema'),
  },
  {
    who: 'OpenAI, function',
    status: 400,
    body: openai(
      "Invalid schema for function 'get_balance': 'format' is not supported.",
      'invalid_function_parameters',
    ),
  },
  { who: 'Anthropic, schema', status: 400, body: anthropic('tools.0.custom.input_schema: JSON schema is invalid.') },
  {
    who: 'OpenAI, value',
    status: 400,
    body: openai(
      "Invalid 'temperature': decimal below minimum value. Expected a value >= 0.",
      'decimal_below_min_value',
    ),
  },
  {
    who: 'OpenAI, missing',
    status: 400,
    body: openai("Missing required parameter: 'messages'.", 'missing_required_parameter'),
  },
  { who: 'DeepSeek, calls', status: 400, body: openai('No tool output found for tool call call-a.') },
  {
    who: 'Anthropic, order',
    status: 400,
    body: anthropic('messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: call_1.'),
  },
  { who: 'OpenAI, policy', status: 400, body: openai('Rejected.', 'content_policy_violation') },
  {
    who: 'Azure, filter',
    status: 400,
    body: openai('The response was filtered due to the content management policy.', 'content_filter'),
  },
  { who: 'any provider', status: 422, body: openai('messages is not a list') },
  { who: 'any provider', status: 415, body: openai('send JSON') },
];
