/**
 * What a refusal blames. `request`: every provider would refuse it. `route`: this provider or account, so another route
 * may well answer. `credential`: the operator's key; a client can do nothing about it and is not shown the refusal.
 */
export type Blame = 'request' | 'route' | 'credential';

/** Statuses that blame the request, unless the message says otherwise. */
const REQUEST_AT_FAULT = new Set([400, 406, 411, 413, 414, 415, 416, 417, 422, 431]);

/** How much of a provider's message is examined, in UTF-16 code units. */
const MAX_EXAMINED = 4000;

/**
 * Whether a status alone refuses the operator's credential. 407 comes from a proxy in front of the provider; a client
 * would take it for its own proxy's, and `fetch` throws on it.
 */
export function refusesCredential(status: number): boolean {
  return status === 401 || status === 403 || status === 407;
}

/** What an answer with an error status blames. `body` is searched for codes and types as well as for wordings. */
export function blameOf(status: number, body: string): Blame {
  if (refusesCredential(status)) return 'credential';
  if (!REQUEST_AT_FAULT.has(status)) return 'route';
  const text = body.slice(0, MAX_EXAMINED);
  if (INVALID_SCHEMA.test(text)) return 'request';
  if (CREDENTIAL.some((wording) => wording.test(text))) return 'credential';
  return ROUTE.some((wording) => wording.test(text)) ? 'route' : 'request';
}

/** The refusal of a client's invalid schema says "not supported" of a keyword, and still blames the request. */
const INVALID_SCHEMA =
  /invalid_json_schema|invalid_function_parameters|\binvalid (?:json )?schema\b|schema is invalid/i;

const CREDENTIAL: readonly RegExp[] = [
  // Codes and types: OpenAI, Anthropic, Gemini (`details[].reason`, 400), Mistral.
  /invalid_api_key|incorrect_api_key|api_key_(?:invalid|expired)|"(?:authentication_error|unauthenticated|unauthorized)"/i,
  // xAI (400): "Incorrect API key provided"; DashScope, Groq, Cloudflare: "Invalid API key", "Invalid access token".
  /\b(?:invalid|incorrect|wrong|missing|expired|revoked|disabled|unknown|no)\b.{0,20}\b(?:api|access|auth\w*|secret|subscription)[ _-]?(?:key|token|credential)/i,
  // Gemini (400): "API key not valid. Please pass a valid API key.", "API key expired", "API Key not found".
  /\bapi[ _-]?key\b.{0,40}\b(?:not valid|invalid|incorrect|expired|not found|not exist|disabled|revoked|suspended|required|missing|leaked)/i,
  // "Authentication failed", Anthropic: "This credential is only authorized for use with ...".
  /authentication (?:failed|error)|\bcredential\b.{0,20}\bonly authorized\b|无效的令牌|密钥(?:无效|错误)/i,
];

const ROUTE: readonly RegExp[] = [
  // Credit and quota. Anthropic (400): "Your credit balance is too low", "specified API usage limits"; OpenAI (400):
  // billing_hard_limit_reached; DashScope (400): Arrearage, "account is in good standing"; SiliconFlow, MiniMax.
  /insufficient[ _](?:quota|balance|credit|fund)|billing|payment[ _]required|credit balance|(?:out of|no|any|more|enough|add) credits?\b/i,
  /exceeded your (?:current )?quota|quota[ _](?:exceeded|exhausted)|usage limits?\b|spend(?:ing)? limit|arrearage|good standing|overdue|欠费|余额/i,
  // LiteLLM (400): "Budget has been exceeded! Current cost: ...", `budget_exceeded`.
  /budget[ _]?(?:has been )?exceeded|exceeded[ _]?budget/i,
  // The model, by code: OpenAI (400), Groq, GitHub, Hugging Face, Mistral, Azure, Volcano.
  /model_(?:not_(?:found|available|supported|exist)|decommissioned|deprecated|unavailable)|(?:unknown|invalid|unsupported|unavailable)_model/i,
  /deployment_?not_?found|operation_?not_?supported|unsupported_api|endpointormodel|DEGRADED function/i,
  // "The model `x` does not exist", "has been decommissioned", "is not a valid model ID", "Model Not Exist" (DeepSeek).
  /\bmodel\b.{0,160}(?:not exist|not found|no longer|decommissioned|deprecated|retired|not deployed|not loaded|inaccessible|is invalid)/i,
  /\bmodel\b.{0,160}\bnot (?:a |an )?(?:valid|supported|available|accessible|allowed|enabled|chat)/i,
  /(?:invalid|unknown|unsupported|no such|not a valid|unable to access|access to|failed to load)(?: [\w-]+){0,2} model\b|模型不存在/i,
  // LM Studio: "No models loaded", "The model has crashed without additional information", "Model unloaded."; Groq:
  // `model_terms_required`, `tool_use_failed` (it could not read its own model's call); DashScope: `Model.AccessDenied`.
  /\bno models? (?:is |are )?(?:currently )?loaded|\bmodel\b.{0,40}\b(?:crashed|unloaded)|model[._ ]?access[ _]?denied/i,
  /model_terms_required|requires terms acceptance|tool_use_failed/i,
  /\bdeployment\b.{0,80}\bnot (?:exist|found)|does not work with the specified model|on-demand throughput/i,
  // Region and account: OpenAI (unsupported_country_region_territory), Gemini (400): "User location is not supported".
  /unsupported_country|\b(?:country|region|location|territory)\b.{0,60}\bnot (?:supported|available|allowed)/i,
  /not (?:supported|available|allowed) in (?:your|this) (?:country|region|location)|permission_denied|FAILED_PRECONDITION/i,
  /\b(?:organi[sz]ation|account|project|workspace|team|subscription)\b.{0,80}\b(?:disabled|restricted|suspended|deactivated|blocked|be verified|not (?:active|allowed|authori[sz]ed))/i,
  // The longest answer of this model. Anthropic: "max_tokens: 100000 > 8192, which is the maximum allowed number of output
  // tokens"; OpenAI: "max_tokens is too large: ... This model supports at most 4096 completion tokens".
  /\bmax_(?:completion_|output_|new_)?tokens\b.{0,60}(?:too (?:large|high|big)|>|maximum|at most|exceeds?|less than or equal)/i,
  // What this model cannot do: vLLM: "x is not a multimodal model"; DashScope: "This model only support stream mode",
  // "parameter.enable_thinking must be set to false for non-streaming calls".
  /\bnot an? (?:multi-?modal|vision|embedding|reasoning|chat)\b|\bonly supports? (?:the )?(?:non-)?stream|enable_thinking/i,
  // An HTML page: something other than the API answers at that address.
  /^\s*<(?:!doctype html|html)\b/i,
  // A parameter that this provider refuses. OpenAI: "Unsupported parameter", "Unrecognized request argument"; Anthropic,
  // Mistral (422): "Extra inputs are not permitted"; Groq: "property 'x' is unsupported"; Gemini: "Unknown name"; Bedrock.
  /unsupported|unknown_parameter|extra_forbidden|\bnot (?:currently |yet )?(?:supported|permitted)\b|\b(?:does not|doesn't|don't|do not|cannot) support/i,
  /\bunrecogni[sz]ed\b|\bunexpected (?:keyword|field|argument|parameter|property)|\bunknown (?:parameter|field|name|argument|key|property|variant)/i,
  /additional propert(?:y|ies)|extraneous key|deprecated for this model|\bonly (?:supported|available|allowed)\b|\bonly [\w.]+ is allowed\b|requires --|不支持/i,
];
