import { wordEnd, wordStart } from '../words.js';

/** Reads a text as JSON; undefined if it is not. */
export function parseJson(text) {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sources by address, in the order in which they were found. `version` changes with each update. */
export class Sources extends Map {
  version = 0;
  read = 0;

  set(url, source) {
    this.version += 1;
    if (source.state === 'read' && this.get(url)?.state !== 'read') this.read += 1;
    return super.set(url, source);
  }
}

/** Adds what a finished call found, read or failed to read to the sources by address. */
export function sourcesFromCall(sources, call) {
  const result = parseJson(call.result);
  if (call.name === 'web_search') {
    for (const found of Array.isArray(result?.results) ? result.results : []) addListed(sources, found);
    const action = parseJson(call.arguments);
    for (const found of Array.isArray(action?.sources) ? action.sources : []) addListed(sources, found);
  }
  if (call.name !== 'fetch_url_content') return;
  const url = typeof result?.url === 'string' ? result.url : parseJson(call.arguments)?.url;
  if (typeof url !== 'string') return;
  const known = sources.get(url) ?? newSource(url);
  // In OpenAI's shape a page that was opened has no text.
  if (call.status === 'completed' && call.result === undefined) {
    sources.set(url, { ...known, state: 'read' });
    return;
  }
  const failed = call.status === 'failed' || typeof result?.content !== 'string';
  if (failed) {
    if (known.state !== 'read') sources.set(url, { ...known, state: 'unreadable' });
    return;
  }
  sources.set(url, {
    ...known,
    state: 'read',
    title: text(result.title) || known.title,
    content: known.content === '' ? result.content : `${known.content}\n\n${result.content}`,
    sourceId: result.source_id ?? known.sourceId,
    published: text(result.published) || known.published,
  });
}

function addListed(sources, found) {
  const url = found?.url;
  if (typeof url !== 'string') return;
  const known = sources.get(url) ?? newSource(url);
  sources.set(url, {
    ...known,
    title: known.title || text(found.title),
    snippet: known.snippet || text(found.snippet),
    sourceId: known.sourceId ?? found.source_id ?? null,
    published: known.published || text(found.published),
  });
}

function newSource(url) {
  const texts = { title: '', snippet: '', content: '', published: '' };
  return { url, ...texts, state: 'listed', sourceId: null, number: null, cited: false };
}

function text(value) {
  return typeof value === 'string' ? value : '';
}

/** Words of three letters or more; Chinese and Japanese character by character. */
const WORDS = /\p{Script=Han}|[\p{L}\p{N}]{3,}/gu;
/** How much of a long content is searched, in characters. */
const MAX_SEARCHED = 400_000;
const AROUND = 260;
/** A full stop in a number or an address does not end a sentence. */
const SENTENCES = /(?:[^.!?。！？\n]|[.!?](?=[^\s]))+[.!?。！？]*/gu;

/**
 * The passage of a source that a claim is most likely based on: `{before, quote, after}`. It shares the most words with the
 * claim, rare ones counting more; undefined if no passage shares any.
 */
export function findPassage(claim, source) {
  const content = unwrapped((source.content || source.snippet || '').slice(0, MAX_SEARCHED));
  const wanted = new Set(claim.toLowerCase().match(WORDS) ?? []);
  if (content === '' || wanted.size === 0) return undefined;
  const sentences = [...content.matchAll(SENTENCES)].filter(([sentence]) => /\S/.test(sentence));
  const words = sentences.map(([sentence]) => new Set(sentence.toLowerCase().match(WORDS) ?? []));
  const frequency = new Map();
  for (const own of words) {
    for (const word of own) if (wanted.has(word)) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  let best = 0;
  let at = -1;
  for (const [index, own] of words.entries()) {
    let score = 0;
    for (const word of own) if (wanted.has(word)) score += 1 / Math.sqrt(frequency.get(word));
    score /= 1 + Math.log1p(own.size / 12);
    if (score > best) [best, at] = [score, index];
  }
  if (at === -1) return undefined;
  const { 0: sentence, index } = sentences[at];
  const start = index + sentence.length - sentence.trimStart().length;
  const end = index + sentence.trimEnd().length;
  return withContext(content, start, end);
}

/** The passage around words that the gateway found in a source: `{before, quote, after}`. */
export function passageAround(words, source) {
  const content = unwrapped((source.content || source.snippet || '').slice(0, MAX_SEARCHED));
  const start = content.indexOf(words);
  return start === -1 ? { before: '', quote: words, after: '' } : withContext(content, start, start + words.length);
}

function withContext(content, start, end) {
  const from = Math.min(start, wordStart(content, start - AROUND));
  const to = Math.max(end, wordEnd(content, end + AROUND));
  return {
    before: `${from > 0 ? '… ' : ''}${content.slice(from, start)}`,
    quote: content.slice(start, end),
    after: `${content.slice(end, to)}${to < content.length ? ' …' : ''}`,
  };
}

/** Joins the lines of a paragraph. */
function unwrapped(text) {
  return text.replace(/([^\n])\n(?=[^\n\s#>|*+-])/g, '$1 ');
}
