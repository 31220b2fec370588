import { Readability } from '@mozilla/readability';
import { Defuddle } from 'defuddle/node';

import TurndownService from 'turndown';
import { gfm } from 'turndown-plugin-gfm';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';
import { parseDocument } from './dom.ts';
import type { ReadPage } from './structure.ts';

/** A way from a page to Markdown. */
export interface StructuredReader {
  name: string;
  read(html: string, url: string): Promise<ReadPage>;
}

/** This project's reader beside others of the same kind, each as it is meant to be used. */
export const STRUCTURED_READERS: readonly StructuredReader[] = [
  {
    name: 'research-gateway',
    async read(html, url) {
      const { content, published = '', updated = '', author = '' } = readHtml(html, url);
      return { markdown: content, dates: [published, updated], authors: author };
    },
  },
  {
    name: 'readability + turndown',
    async read(html) {
      const article = new Readability(parseDocument(html)).parse();
      const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced' });
      turndown.use(gfm);
      return {
        markdown: turndown.turndown(article?.content ?? ''),
        dates: [article?.publishedTime ?? ''],
        authors: article?.byline ?? '',
      };
    },
  },
  {
    name: 'defuddle',
    async read(html, url) {
      const { content, published, author } = await Defuddle(parseDocument(html), url, {
        markdown: true,
        useAsync: false,
      });
      return { markdown: content, dates: [published], authors: author };
    },
  },
];
