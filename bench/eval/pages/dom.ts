import { DOMParser } from 'linkedom';

/** The document that the readers of others work on. */
export function parseDocument(html: string) {
  return new DOMParser().parseFromString(html, 'text/html');
}
