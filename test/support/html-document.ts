import { DOMParser } from 'linkedom';

/** The part of the DOM that tests and benchmarks use: linkedom's types build on the browser's globals. */
export interface TestElement {
  readonly tagName: string;
  readonly textContent: string;
  readonly children: Iterable<TestElement>;
  innerHTML: string;
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): Iterable<TestElement>;
}

export interface TestDocument {
  readonly body: TestElement;
  querySelectorAll(selector: string): Iterable<TestElement>;
}

/** Parses HTML with a parser other than the reader's own. */
export function parseHtmlDocument(html: string): TestDocument {
  const parsed: unknown = new DOMParser().parseFromString(html, 'text/html');
  if (!isDocument(parsed)) throw new Error('The parser returned no document.');
  return parsed;
}

function isDocument(parsed: unknown): parsed is TestDocument {
  return typeof parsed === 'object' && parsed !== null && 'documentElement' in parsed;
}
