import { collapseSpaces } from '../../../../base/text.ts';

/** The fields of a pdf.js annotation that are read. */
interface Annotation {
  subtype?: string;
  fieldName?: string;
  fieldType?: string;
  fieldValue?: unknown;
  /** The value of a radio button when it is selected. */
  buttonValue?: unknown;
  alternativeText?: string;
  checkBox?: boolean;
  radioButton?: boolean;
  titleObj?: { str?: string };
  contentsObj?: { str?: string };
}

const MAX_NAME_LENGTH = 200;
/** How many annotations of a page are read. */
const MAX_LINES = 2000;

/** The values in the form fields of a page, and the comments on it, one a line; empty if there are none. */
export function annotationLines(annotations: readonly Annotation[]): string {
  const lines = new Set<string>();
  for (const annotation of annotations) {
    const line = annotation.subtype === 'Widget' ? fieldLine(annotation) : commentLine(annotation);
    if (line !== '') lines.add(line);
    if (lines.size === MAX_LINES) break;
  }
  return [...lines].join('\n');
}

function fieldLine(field: Annotation): string {
  const { fieldName = '', alternativeText, fieldValue, buttonValue, checkBox, radioButton } = field;
  const name = collapseSpaces(alternativeText || fieldName).slice(0, MAX_NAME_LENGTH);
  if (radioButton && typeof buttonValue === 'string' && fieldValue !== buttonValue) return '';
  const values = (Array.isArray(fieldValue) ? fieldValue : [fieldValue]).filter((value) => typeof value === 'string');
  const value = values.join(', ').trim();
  if (value === '' || value === 'Off') return '';
  return name === '' ? value : `${name}: ${checkBox ? 'yes' : value}`;
}

function commentLine({ subtype = '', titleObj, contentsObj }: Annotation): string {
  const text = contentsObj?.str?.trim() ?? '';
  // Links have no text of their own, and a popup repeats its comment.
  if (text === '' || subtype === 'Link' || subtype === 'Popup') return '';
  const author = titleObj?.str?.trim().slice(0, MAX_NAME_LENGTH);
  return subtype === 'FreeText' || !author ? text : `Comment of ${author}: ${text}`;
}
