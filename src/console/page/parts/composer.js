import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Attachments, partsOf, readFile } from './attachments.js';
import { Choice, Failure } from './controls.js';
import { useFiles } from './file-picker.js';
import { Icon } from './icons.js';
import { McpServers } from './mcp-servers.js';
import { useAttempt, useIdempotencyKey } from './request-hooks.js';

const EFFORTS = [['', 'model default'], 'low', 'medium', 'high'];
const TOOLS = [
  { type: 'web_search', label: 'Search and read' },
  { type: 'code_interpreter', label: 'Python' },
];
/** Numbers that a request may hold. */
const LIMITS = ['max_tool_calls', 'max_output_tokens', 'max_cost'];
const TITLE_LENGTH = 200;

const DEFAULTS = {
  effort: '',
  ownTools: true,
  tools: ['web_search'],
  /** Tools of the request that this form has no field for, such as a search in a collection. */
  others: [],
  instructions: '',
  schema: '',
  max_tool_calls: '',
  max_output_tokens: '',
  max_cost: '',
  propose: false,
  clarify: false,
  charts: false,
  lanes: '',
  sites: '',
  after: '',
};

/**
 * The form for a question and its options. `previous`: the id of the response that it follows; `thread`: of the one that
 * began the thread; `given`: the request whose options it starts with.
 * @param onSubmit `(body, {idempotencyKey})`, rejects with an ApiError.
 */
export function Composer({
  models,
  model: chosen,
  previous,
  thread,
  initial = '',
  onSubmit,
  focus = false,
  compact = false,
  answers = false,
  given = {},
}) {
  const [text, setText] = useState(initial);
  const [model, setModel] = useState(chosen ?? models[0]?.id);
  const [options, setOptions] = useState(() => ({ ...DEFAULTS, ...optionsOf(given) }));
  const [servers, setServers] = useState([]);
  const [files, setFiles] = useState([]);
  const form = useRef(null);
  const field = useRef(null);
  useEffect(() => {
    if (!focus) return;
    field.current.focus();
    field.current.setSelectionRange(initial.length, initial.length);
  }, []);
  useEffect(() => grow(field.current), [text]);
  const change = (name) => (value) => setOptions({ ...options, [name]: value });

  const readForm = () => {
    const wrong = form.current.querySelector('input:invalid');
    if (wrong?.validity.badInput) throw new Error(`${wrong.labels[0].textContent.trim()}: expected a number.`);
    return bodyOf({ text, model, previous, thread, options, servers, files });
  };
  const { attempt, busy, error, setError } = useAttempt();
  const attach = async (file) => {
    const attached = await readFile(file);
    setFiles((before) => [...before, attached]);
  };
  const { waiting: reading, add } = useFiles(attach, { onProblem: setError });
  const isEmpty = text.trim() === '' || reading.length > 0;
  const idempotencyKeyFor = useIdempotencyKey();
  const send = async () => {
    const body = readForm();
    await onSubmit(body, { idempotencyKey: idempotencyKeyFor(JSON.stringify(body)) });
  };
  const submit = (event) => {
    event.preventDefault();
    if (!busy && !isEmpty) void attempt(send);
  };
  const onKeys = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };

  return html`<form class="composer" noValidate ref=${form} data-compact=${compact} onSubmit=${submit} onKeyDown=${onKeys}>
    <label class="sr" for="question">${answers ? 'Your answer' : compact ? 'Follow-up question' : 'Question'}</label>
    <textarea
      id="question"
      ref=${field}
      rows=${compact ? 2 : 3}
      dir="auto"
      placeholder=${answers ? 'Your answer' : compact ? 'Ask a follow-up…' : 'A question, as you would ask a colleague who has an hour for it'}
      value=${text}
      onInput=${(event) => setText(event.currentTarget.value)}
    ></textarea>
    <${Attachments} files=${files} onChange=${setFiles} reading=${reading} onAdd=${add} />
    <div class="composer-bar">
      <${Choice} label="Model" value=${model} options=${models.map(({ id }) => id)} onChoose=${setModel} />
      <${Choice} label="Effort" value=${options.effort} options=${EFFORTS} onChoose=${change('effort')} />
      <span class="grow"></span>
      <button type="submit" class="button primary" disabled=${busy || isEmpty}>
        <span>${busy ? 'Sending…' : answers ? 'Answer' : compact ? 'Follow up' : 'Research'}</span><kbd aria-hidden="true">Ctrl ⏎</kbd>
      </button>
    </div>
    <${Failure} error=${error} />
    <details class="options">
      <summary><${Icon} name="down" />Tools, limits and format</summary>
      <${Options} options=${options} change=${change} />
      <${McpServers} servers=${servers} onChange=${setServers} />
    </details>
  </form>`;
}

function Options({ options, change }) {
  const typed = (name) => (event) => change(name)(event.currentTarget.value);
  const toggle = (type) => () => {
    const { tools } = options;
    change('tools')(tools.includes(type) ? tools.filter((other) => other !== type) : [...tools, type]);
  };
  return html`<div class="options-grid">
    <fieldset>
      <legend>Tools</legend>
      <label class="check"><input type="checkbox" checked=${options.ownTools} onChange=${(event) => change('ownTools')(event.currentTarget.checked)} /> All of the model’s tools</label>
      ${TOOLS.map(
        ({ type, label }) => html`<label class="check" key=${type}
          ><input type="checkbox" disabled=${options.ownTools} checked=${options.ownTools || options.tools.includes(type)} onChange=${toggle(type)} /> ${label}</label
        >`,
      )}
    </fieldset>
    <fieldset>
      <legend>Research</legend>
      <label class="check"><input type="checkbox" checked=${options.propose} onChange=${(event) => change('propose')(event.currentTarget.checked)} /> Show me the plan first</label>
      <label class="check"><input type="checkbox" checked=${options.clarify} onChange=${(event) => change('clarify')(event.currentTarget.checked)} /> Ask me if something is unclear</label>
      <label class="check"><input type="checkbox" checked=${options.charts} onChange=${(event) => change('charts')(event.currentTarget.checked)} /> Draw charts in the report</label>
    </fieldset>
    <fieldset class="wide in-a-row">
      <legend>Sources</legend>
      <label class="field">Only these sites <input dir="auto" placeholder="all, or for example nature.com" value=${options.sites} onInput=${typed('sites')} /></label>
      <label class="field">Published since <input type="date" value=${options.after} onInput=${typed('after')} /></label>
      <label class="field">Parallel lanes <input type="number" min="1" max="8" step="1" placeholder="one" value=${options.lanes} onInput=${typed('lanes')} /></label>
    </fieldset>
    <fieldset class="wide in-a-row">
      <legend>Limits</legend>
      <label class="field">Tool calls <input type="number" min="1" step="1" placeholder="no limit" value=${options.max_tool_calls} onInput=${typed('max_tool_calls')} /></label>
      <label class="field">Report tokens <input type="number" min="1" step="1" placeholder="model default" value=${options.max_output_tokens} onInput=${typed('max_output_tokens')} /></label>
      <label class="field">Cost <input type="number" min="0" step="any" placeholder="no limit" value=${options.max_cost} onInput=${typed('max_cost')} /></label>
    </fieldset>
    <label class="field wide">Instructions <textarea rows="3" dir="auto" placeholder="Added before the question, for example the kind of report you need" value=${options.instructions} onInput=${typed('instructions')}></textarea></label>
    <label class="field wide">JSON schema for the answer <textarea rows="3" class="code" spellcheck="false" placeholder=${'{ "type": "object", "properties": { … } }'} value=${options.schema} onInput=${typed('schema')}></textarea></label>
  </div>`;
}

/** The options of the form for a request. */
function optionsOf({ reasoning, instructions, ...body }) {
  const schema = body.text?.format?.schema;
  const { charts = false, lanes, sources } = body.research ?? {};
  return {
    effort: reasoning?.effort ?? '',
    instructions: instructions ?? '',
    schema: schema ? JSON.stringify(schema, null, 2) : '',
    ...Object.fromEntries(LIMITS.map((name) => [name, String(body[name] ?? '')])),
    charts,
    lanes: String(lanes ?? ''),
    sites: sources?.allowed_domains?.join(', ') ?? '',
    after: sources?.after ?? '',
    ...(body.tools && {
      ownTools: false,
      tools: TOOLS.map(({ type }) => type).filter((type) => body.tools.some((tool) => tool.type === type)),
      others: body.tools.filter(({ type }) => !TOOLS.some((tool) => tool.type === type)),
    }),
    ...(body.tool_choice === 'none' && { ownTools: false, tools: [] }),
  };
}

/** @throws Error that names the field. */
function bodyOf({ text, model, previous, thread, options, servers, files }) {
  const { effort, ownTools, tools, others, instructions, schema } = options;
  const title = text.replace(/\s+/g, ' ').trim();
  const body = { model, input: inputOf(text, files), metadata: { title: [...title].slice(0, TITLE_LENGTH).join('') } };
  if (previous) {
    body.previous_response_id = previous;
    // Lists do not say which thread a run belongs to: its metadata does.
    body.metadata.thread = thread;
  }
  if (effort !== '') body.reasoning = { effort };
  const research = researchOf(options);
  if (Object.keys(research).length > 0) body.research = research;
  if (!ownTools) {
    const named = [...tools.map((type) => ({ type })), ...others];
    if (named.length === 0) body.tool_choice = 'none';
    else body.tools = named;
  }
  const filled = servers.filter(({ name, url }) => name !== '' || url !== '');
  if (filled.length > 0) body.mcp_servers = filled.map(serverOf);
  if (instructions.trim() !== '') body.instructions = instructions;
  if (schema.trim() !== '')
    body.text = { format: { type: 'json_schema', name: 'answer', schema: parsed(schema), strict: true } };
  for (const name of LIMITS) if (options[name] !== '') body[name] = Number(options[name]);
  return body;
}

function researchOf({ propose, clarify, charts, lanes, sites, after }) {
  const domains = sites.split(/[\s,]+/).filter(Boolean);
  const sources = { ...(domains.length > 0 && { allowed_domains: domains }), ...(after !== '' && { after }) };
  return {
    ...(propose && { plan: 'propose' }),
    ...(clarify && { clarify: true }),
    ...(charts && { charts: true }),
    ...(lanes !== '' && { lanes: Number(lanes) }),
    ...(Object.keys(sources).length > 0 && { sources }),
  };
}

function inputOf(text, files) {
  if (files.length === 0) return text;
  return [{ type: 'message', role: 'user', content: [...partsOf(files), { type: 'input_text', text }] }];
}

function serverOf({ name, url, token }) {
  return { name, url, ...(token !== '' && { access_token: token }) };
}

function parsed(schema) {
  try {
    return JSON.parse(schema);
  } catch (cause) {
    throw new Error(`The JSON schema is not valid JSON: ${cause.message}`, { cause });
  }
}

/** Makes the field as tall as its text, up to half of the window. */
function grow(field) {
  field.style.height = 'auto';
  field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight / 2)}px`;
}
