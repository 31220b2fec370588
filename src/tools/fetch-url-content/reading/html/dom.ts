import { DOMParser } from 'linkedom';

/**
 * The part of the DOM that the readers use. The program is compiled without the browser's global types, on which the
 * types of linkedom build.
 */
export interface DomNode {
  readonly nodeType: number;
  readonly nodeName: string;
  textContent: string;
  readonly parentElement: DomElement | null;
  readonly childNodes: ArrayLike<DomNode> & Iterable<DomNode>;
  remove(): void;
}

export interface DomElement extends DomNode {
  readonly tagName: string;
  readonly className: string;
  readonly nextElementSibling: DomElement | null;
  readonly children: ArrayLike<DomElement> & Iterable<DomElement>;
  innerHTML: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  hasAttribute(name: string): boolean;
  querySelector(selector: string): DomElement | null;
  querySelectorAll(selector: string): ArrayLike<DomElement> & Iterable<DomElement>;
  closest(selector: string): DomElement | null;
  contains(other: DomElement): boolean;
  append(...nodes: (DomNode | string)[]): void;
  before(...nodes: (DomNode | string)[]): void;
  replaceWith(...nodes: (DomNode | string)[]): void;
}

export interface DomDocument {
  readonly documentElement: DomElement;
  readonly body: DomElement;
  createElement(name: string): DomElement;
  querySelector(selector: string): DomElement | null;
  querySelectorAll(selector: string): ArrayLike<DomElement> & Iterable<DomElement>;
}

/** The element that holds a page's text, in its document. */
export interface MainText {
  root: DomElement;
  document: DomDocument;
}

/** `nodeType` of elements and of text. */
export const ELEMENT = 1;
export const TEXT = 3;

/** A tree from HTML that has been through `prepareHtml`. */
export function parseHtmlDocument(html: string): DomDocument {
  return asDocument(new DOMParser().parseFromString(html, 'text/html'));
}

/** A tree from XML. Entities that a document defines for itself are not expanded. */
export function parseXmlDocument(
  xml: string,
): Pick<DomDocument, 'documentElement' | 'querySelector' | 'querySelectorAll'> {
  return asDocument(new DOMParser().parseFromString(xml, 'text/xml'));
}

function asDocument(parsed: unknown): DomDocument {
  if (!isDocument(parsed)) throw new Error('The parser returned no document.');
  return parsed;
}

function isDocument(parsed: unknown): parsed is DomDocument {
  return typeof parsed === 'object' && parsed !== null && 'documentElement' in parsed;
}

/** Whether a node is an element. */
export function isElement(node: DomNode): node is DomElement {
  return node.nodeType === ELEMENT;
}
