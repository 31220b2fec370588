import { html } from '../lib/preact.js';

/** Longer code is not highlighted, in characters. */
const MAX_LENGTH = 20_000;

const HASH_COMMENTS = new Set(
  'python py ruby rb sh bash shell zsh console yaml yml toml r perl make makefile dockerfile ini conf nix elixir'.split(
    ' ',
  ),
);
const DASH_COMMENTS = new Set('sql lua haskell hs ada elm'.split(' '));
const PLAIN = new Set(['', 'text', 'txt', 'plain', 'plaintext', 'output', 'log', 'markdown', 'md', 'csv']);

const KEYWORDS = new Set(
  `abstract and as assert async await begin break case catch class const continue def default del do echo elif else elsif
  end enum esac except export extends extern false fi finally fn for foreach from func function global go goto if
  implements import in inline instanceof interface is lambda let local loop match mod module mut namespace new nil not
  null None or package pass private protected pub public raise return select self static struct super switch template then
  this throw throws trait true True False try type typeof undefined union unless unsafe until use using val var virtual void
  when where while with yield SELECT FROM WHERE JOIN LEFT INNER OUTER ON GROUP ORDER BY HAVING LIMIT INSERT INTO VALUES
  UPDATE SET DELETE CREATE TABLE INDEX AND OR NOT NULL AS DISTINCT UNION WITH`.split(/\s+/),
);

const STRINGS = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|${'`'}(?:\\.|[^${'`'}\\])*${'`'}?`;
const REST = String.raw`|(?<string>${STRINGS})|(?<number>\b\d[\w.]*)|(?<word>[A-Za-z_]\w*)`;
const SLASH_RULE = new RegExp(String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))${REST}`, 'g');
const HASH_RULE = new RegExp(String.raw`(?<comment>(?<![\w$])#[^\n]*)${REST}`, 'g');
const DASH_RULE = new RegExp(String.raw`(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))${REST}`, 'g');
const MARKUP_RULE = /(?<comment><!--[\s\S]*?(?:-->|$))|(?<string>"[^"\n]*"?|'[^'\n]*'?)|(?<word><\/?[\w:-]+|\/?>)/g;
const JSON_RULE = new RegExp(`(?<comment>\\u0000)${REST}`, 'g');

function ruleOf(language) {
  if (HASH_COMMENTS.has(language)) return HASH_RULE;
  if (DASH_COMMENTS.has(language)) return DASH_RULE;
  if (/^(html|xml|svg|vue|jsx-html)$/.test(language)) return MARKUP_RULE;
  return /^json[5c]?$|^jsonl$/.test(language) ? JSON_RULE : SLASH_RULE;
}

/** Highlights comments, strings, numbers and keywords of code; unknown languages are treated like C. */
export function coloured(text, language = '') {
  const name = language.trim().split(/\s/)[0].toLowerCase();
  if (text.length > MAX_LENGTH || PLAIN.has(name)) return text;
  const rule = ruleOf(name);
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(rule)) {
    const { comment, string, number } = found.groups;
    const isKeyword = rule === MARKUP_RULE || KEYWORDS.has(found[0]);
    const kind = comment ? 'comment' : string ? 'string' : number ? 'number' : isKeyword ? 'keyword' : undefined;
    if (!kind) continue;
    parts.push(text.slice(at, found.index), html`<span data-code=${kind}>${found[0]}</span>`);
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
