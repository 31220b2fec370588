import { joinSpaces } from '../../../../base/text.ts';

/** What is read of an annotation as the parser gives it. */
interface Annotation {
  subtype?: string;
  fieldName?: string;
  fieldType?: string;
  fieldValue?: unknown;
  /** What a radio button stands for. */
  buttonValue?: unknown;
  alternativeText?: string;
  checkBox?: boolean;
  radioButton?: boolean;
  titleObj?: { str?: string };
  contentsObj?: { str?: string };
}

const LONGEST_NAME = 200;
/** More annotations of a page are left out. */
const MAX_LINES = 2000;

/** What was filled into the fields of a form on a page, and what readers wrote on it; empty where there is nothing. */
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
  const name = joinSpaces(alternativeText || fieldName).slice(0, LONGEST_NAME);
  if (radioButton && typeof buttonValue === 'string' && fieldValue !== buttonValue) return '';
  const values = (Array.isArray(fieldValue) ? fieldValue : [fieldValue]).filter((value) => typeof value === 'string');
  const value = values.join(', ').trim();
  if (value === '' || value === 'Off') return '';
  return name === '' ? value : `${name}: ${checkBox ? 'yes' : value}`;
}

function commentLine({ subtype = '', titleObj, contentsObj }: Annotation): string {
  const text = contentsObj?.str?.trim() ?? '';
  // Links, and what opens beside a comment, say nothing of their own.
  if (text === '' || subtype === 'Link' || subtype === 'Popup') return '';
  const author = titleObj?.str?.trim().slice(0, LONGEST_NAME);
  return subtype === 'FreeText' || !author ? text : `Comment of ${author}: ${text}`;
}
