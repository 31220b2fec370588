import assert from 'node:assert/strict';

const TAG = /<(\/?)([A-Za-z_][\w:.-]*)((?:\s+[A-Za-z_][\w:.-]*="[^"<]*")*)\s*(\/?)>/y;
const BARE = /&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-fA-F]+);)/;
/** Characters that XML 1.0 forbids. */
const FORBIDDEN = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;

/** Fails if a text is not well-formed XML of a simple kind, without comments and CDATA sections. */
export function assertWellFormed(xml: string, name: string): void {
  assert.doesNotMatch(xml, FORBIDDEN, name);
  assert.doesNotMatch(xml, BARE, name);
  const open: string[] = [];
  let at = xml.startsWith('<?xml') ? xml.indexOf('?>') + 2 : 0;
  let roots = 0;
  for (;;) {
    const next = xml.indexOf('<', at);
    const text = xml.slice(at, next === -1 ? undefined : next);
    if (open.length === 0) assert.equal(text.trim(), '', `${name}: text outside of the root`);
    if (next === -1) break;
    TAG.lastIndex = next;
    const match = TAG.exec(xml);
    assert.ok(match, `${name}: ${xml.slice(next, next + 80)}`);
    const [whole, closes, element = '', attributes = '', isEmpty] = match;
    const names = [...attributes.matchAll(/([\w:.-]+)="/g)].map(([, each]) => each);
    assert.equal(new Set(names).size, names.length, `${name}: ${whole}`);
    if (open.length === 0 && !closes) roots += 1;
    if (closes) assert.equal(open.pop(), element, name);
    else if (!isEmpty) open.push(element);
    at = next + whole.length;
  }
  assert.deepEqual([open, roots], [[], 1], name);
}
