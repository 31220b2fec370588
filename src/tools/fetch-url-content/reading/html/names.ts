import { toSingleLine } from '../../../../base/text.ts';

/** Finds names in lines of text: bylines as people and themes write them. */

/** The longest name or list of names, in characters. */
export const MAX_NAME_LENGTH = 120;
const MAX_LINE_LENGTH = 400;

/** `By`, in the most common languages. */
export const BY =
  /^(?:(?:written|posted|published|submitted|created|asked|started) by|by|von|par|por|di|door|af|av|skrevet av|skriven av|oleh|בעריכת|מאת|بقلم)[\s:]+/i;
/** The beginning of links to more texts by an author. */
const MORE_BY =
  /^(?:\p{L}+\s){0,3}(?:posts?|articles?|stories|beiträge|artikel|alles|mehr|more|veröffentlicht|eingestellt|geschrieben|verfasst)\s(?:by|from|von|vom)\s*/iu;
/** `Author`, in the most common languages. */
const AUTHOR_WORD = `(?:authors?|autor(?:in|en|es|as|zy|ka|i)?|auteurs?|autore|redacteur|författare|skribent|forfatter|kirjoittaja|szerző|yazar|yazan|penulis|tác giả|автор(?:ы|и)?|συντάκτης|الكاتب|المؤلف|نویسنده|लेखक|ผู้เขียน|作者|著者|執筆者?|글쓴이|저자)`;
/** A label before a name, and one that is alone in the line or cell before it. */
const LABEL = new RegExp(String.raw`^${AUTHOR_WORD}\s*[:：]\s*`, 'i');
const LONE_LABEL = new RegExp(
  String.raw`^(?:${AUTHOR_WORD}\s*[:：]?|(?:written|posted|published|geschrieben|eingestellt|verfasst) (?:by|von)\s*:?|(?:by|von|par|por)\s*:?)$`,
  'i',
);
/** Text after a name: what was done, and when. */
const AFTER_NAME = /(?:^|[\s,·|•»–—-]{1,4})(?:(?:published|posted|updated|last|on)\b.*|\d.*|)$|\s[·|•»].*$/is;
/** The role of a person, after the name and a comma. */
const ROLE =
  /\b(?:editor|writer|reporter|correspondent|staff|engineer|scientist|researcher|professor|director|manager|founder|co-founder|ceo|cto|fellow|president|contributor|developer|journalist|columnist|analyst|associate|head|chief|senior|lead|university|institute)\b/i;
/** Separators between names, in a line without runs of spaces. */
const SEPARATOR = / ?[,;、،] ?(?:(?:and|und|et|y|e) )?| (?:and|und|et|y|e|&) /i;
const BY_AFTER_DATE = /[\s·•|]by\s+/i;

/** Names, which begin with capitals in scripts that have them. */
const NAMES = /^\p{Lu}[\p{L}.'’-]*(?:(?:\s|,\s)(?:(?:and|und|et|y|e|&|de|van|von|der|la)\s)?\p{Lu}[\p{L}.'’-]*){0,7}$/u;
const UNCASED_NAMES = /^[\p{Lo}\p{M}][\p{Lo}\p{M}\s・·.、,]{1,30}$/u;
/** A name of at least two parts. */
const FULL_NAME = /^\p{Lu}[\p{L}.'’-]*(?:\s(?:(?:de|van|von|der|den|la|le|du|bin|al)\s)?\p{Lu}[\p{L}.'’-]*){1,3}$/u;
const DATED = /\b(?:19|20)\d\d\b/;

/** Whether a text consists of names. */
export function isNames(text: string): boolean {
  return NAMES.test(text) || UNCASED_NAMES.test(text);
}

/** Strips a line of everything around its name. Empty if no letter is left. */
export function nameIn(line: string): string {
  const name = toSingleLine(line.slice(0, MAX_LINE_LENGTH))
    .replace(MORE_BY, '')
    .replace(BY, '')
    .replace(LABEL, '')
    .replace(AFTER_NAME, '')
    .trim();
  return /\p{L}/u.test(name) ? name : '';
}

/** Splits a byline into names, without the roles of people. A line that is not clearly several names stays one. */
export function namesIn(line: string): string[] {
  const parts = toSingleLine(line)
    .split(SEPARATOR)
    .filter((part) => part !== '');
  const role = parts.findIndex((part, at) => at > 0 && ROLE.test(part));
  if (role > 0) return parts.slice(0, role);
  return parts.length > 1 && parts.every((part) => FULL_NAME.test(part)) ? parts : [line];
}

/** Whether a line says that the next one is a name. */
export function announcesName(line: string): boolean {
  return line.length < 30 && LONE_LABEL.test(line);
}

/** The name in a line with `By`, `Author:` or a date beside it; else ''. */
export function bylineIn(line: string): string {
  if (line.length >= MAX_NAME_LENGTH) return '';
  const by = BY_AFTER_DATE.exec(line);
  const afterDate = by && DATED.test(line.slice(0, by.index)) ? line.slice(by.index + by[0].length) : undefined;
  const labelled = afterDate ?? (BY.test(line) || LABEL.test(line) ? line : undefined);
  const name = labelled === undefined ? besideDate(line) : nameIn(labelled);
  return namesIn(name).every(isNames) ? name : '';
}

/** The name in a line such as `March 3, 2025 · 5 min · Jane Doe`. */
function besideDate(line: string): string {
  const parts = toSingleLine(line).split(/ ?[·•|–—] ?/);
  if (parts.length < 2 || !parts.some((part) => DATED.test(part))) return '';
  const names = parts.filter((part) => FULL_NAME.test(part) && part.split(' ').length < 4);
  return names.length === 1 ? names.join() : '';
}
