import { Readability } from '@mozilla/readability';
import { Defuddle } from 'defuddle/node';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';
import { decodeText } from '../../../src/tools/fetch-url-content/reading/plain/charset.ts';
import { parseDocument } from './dom.ts';
import { plainText } from './plain-text.ts';

/** A way to the main text of a page. */
export interface Extractor {
  name: string;
  extract(bytes: Uint8Array, url: string): Promise<string>;
}

/** This project's reader beside others of the same kind, each as it is meant to be used. */
export const EXTRACTORS: readonly Extractor[] = [
  {
    name: 'research-gateway',
    extract: async (bytes, url) => plainText(readHtml(decodeText(bytes), url).content),
  },
  {
    name: 'readability',
    async extract(bytes) {
      const found = new Readability(parseDocument(decodeText(bytes))).parse()?.content ?? '';
      // Its own text runs paragraphs together.
      const spaced = found.replace(/<\/(p|div|li|h\d|td|tr|blockquote|pre)>|<br[^>]*>/gi, ' $&');
      return parseDocument(`<!doctype html><html><body>${spaced}</body></html>`).body.textContent;
    },
  },
  {
    name: 'defuddle',
    async extract(bytes, url) {
      const { content } = await Defuddle(parseDocument(decodeText(bytes)), url, {
        markdown: true,
        useAsync: false,
      });
      return plainText(content);
    },
  },
];
