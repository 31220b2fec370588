import { asText, number, openable, placeOf, startOf } from '../format.js';
import { html, useState } from '../lib/preact.js';
import { planOf, UPDATE_PLAN } from '../watching/plan-state.js';
import { PlanItems } from '../watching/plan-view.js';
import { parseJson } from './sources.js';

/** How much of a long text is shown at first, in characters. */
const PREVIEW_LENGTH = 2500;

/** Arguments and result of a call: formatted for built-in tools, as JSON for others. */
export function CallDetails({ item }) {
  const args = parseJson(item.arguments);
  const result = parseJson(item.result);
  const problem = result?.error;
  return html`<div class="call">
    <${Arguments} item=${item} args=${args} />
    ${problem && html`<p class="bad" dir="auto">${asText(problem.message ?? problem)}${problem.code ? ` (${asText(problem.code)})` : ''}</p>`}
    ${!problem && html`<${Result} item=${item} result=${result} />`}
    <details class="raw"><summary>JSON</summary>
      <${LongText} text=${pretty(args, item.arguments)} label="Arguments" />
      ${item.result !== undefined && html`<${LongText} text=${pretty(result, item.result)} label="Result" />`}
    </details>
  </div>`;
}

function Arguments({ item, args }) {
  const plan = item.name === UPDATE_PLAN && planOf(args);
  if (plan) return html`<${PlanItems} plan=${plan} />`;
  if (item.name === 'web_search') {
    const queries = [args?.queries ?? args?.query ?? []].flat();
    return html`<ul class="queries">${queries.map((query, at) => html`<li key=${at} dir="auto">${asText(query)}</li>`)}</ul>`;
  }
  if (item.name === 'fetch_url_content') {
    return html`<p class="address"><${Address} url=${asText(args?.url)} />${args?.goal && html`<span dir="auto"> · ${asText(args.goal)}</span>`}</p>`;
  }
  if (typeof args?.code === 'string') return html`<${LongText} text=${args.code} label="Code" />`;
  if (item.arguments === '') return null;
  return html`<${LongText} text=${pretty(args, item.arguments)} label="Arguments" />`;
}

function Result({ item, result }) {
  const results = result?.results ?? parseJson(item.arguments)?.sources;
  if (item.name === 'web_search' && Array.isArray(results)) {
    if (results.length === 0) return html`<p class="quiet">Nothing found.</p>`;
    return html`<ol class="found">
      ${results.map(
        (found, at) => html`<li key=${at} value=${Number.isSafeInteger(found?.source_id) ? found.source_id : at + 1}>
          <span dir="auto">${asText(found?.title) || placeOf(asText(found?.url))}</span>
          <span class="address">${placeOf(asText(found?.url))}</span>
        </li>`,
      )}
    </ol>`;
  }
  if (item.result === undefined || item.name === UPDATE_PLAN) return null;
  if (item.name === 'fetch_url_content' && typeof result?.content === 'string') {
    const cut = result.truncated ? ', cut' : '';
    return html`<${LongText} text=${result.content} label=${`${number(result.content.length)} characters read${cut}`} prose />`;
  }
  if (typeof result?.stdout === 'string') {
    const printed = [result.stdout, result.stderr, result.result].filter(
      (text) => text !== undefined && text !== null && text !== '',
    );
    return html`<${LongText} text=${printed.map((text) => (typeof text === 'string' ? text : pretty(text))).join('\n')} label="Output" />`;
  }
  return html`<${LongText} text=${pretty(result, item.result)} label="Result" />`;
}

/** A text in a box; a long one is cut until the reader wants all of it. */
export function LongText({ text, label, prose = false }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > PREVIEW_LENGTH;
  return html`<figure class="text-box" data-prose=${prose}>
    <figcaption>${label}</figcaption>
    <pre tabindex="0" dir="auto">${whole || !long ? text : `${startOf(text, PREVIEW_LENGTH)}…`}</pre>
    ${long && html`<button type="button" class="link" onClick=${() => setWhole(!whole)}>${whole ? 'Show less' : `Show all ${number(text.length)} characters`}</button>`}
  </figure>`;
}

/** An address, as a link if a browser may open it. */
export function Address({ url }) {
  const href = openable(url);
  if (!href) return html`<span class="url">${placeOf(url)}</span>`;
  return html`<a class="url" href=${href} target="_blank" rel="noreferrer noopener nofollow">${placeOf(url)}</a>`;
}

function pretty(value, otherwise = '') {
  return value === undefined ? otherwise : JSON.stringify(value, null, 2);
}
