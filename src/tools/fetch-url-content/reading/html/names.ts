import { onOneLine } from '../../../../base/text.ts';

/** Names in lines of text: bylines as people and themes write them. */

/** In characters. */
export const LONGEST_NAME = 120;
const LONGEST_LINE = 400;

/** `By`, in the languages that are read most. */
export const BY =
  /^(?:(?:written|posted|published|submitted|created|asked|started) by|by|von|par|por|di|door|af|av|skrevet av|skriven av|oleh|בעריכת|מאת|بقلم)[\s:]+/i;
/** What links to the other texts of an author say. */
const MORE_BY =
  /^(?:\p{L}+\s){0,3}(?:posts?|articles?|stories|beiträge|artikel|alles|mehr|more|veröffentlicht|eingestellt|geschrieben|verfasst)\s(?:by|from|von|vom)\s*/iu;
/** `Author`, in as many. */
const AUTHOR_WORD = `(?:authors?|autor(?:in|en|es|as|zy|ka|i)?|auteurs?|autore|redacteur|författare|skribent|forfatter|kirjoittaja|szerző|yazar|yazan|penulis|tác giả|автор(?:ы|и)?|συντάκτης|الكاتب|المؤلف|نویسنده|लेखक|ผู้เขียน|作者|著者|執筆者?|글쓴이|저자)`;
/** What stands before a name in a line, or alone in the line or cell before it. */
const LABEL = new RegExp(String.raw`^${AUTHOR_WORD}\s*[:：]\s*`, 'i');
const LABEL_ALONE = new RegExp(
  String.raw`^(?:${AUTHOR_WORD}\s*[:：]?|(?:written|posted|published|geschrieben|eingestellt|verfasst) (?:by|von)\s*:?|(?:by|von|par|por)\s*:?)$`,
  'i',
);
/** What stands behind a name: what was done, and when. */
const BEHIND_NAME = /(?:^|[\s,·|•»–—-]{1,4})(?:(?:published|posted|updated|last|on)\b.*|\d.*|)$|\s[·|•»].*$/is;
/** What somebody does, behind a name and a comma. */
const ROLE =
  /\b(?:editor|writer|reporter|correspondent|staff|engineer|scientist|researcher|professor|director|manager|founder|co-founder|ceo|cto|fellow|president|contributor|developer|journalist|columnist|analyst|associate|head|chief|senior|lead|university|institute)\b/i;
/** Between names, in a line without runs of spaces. */
const BETWEEN = / ?[,;、،] ?(?:(?:and|und|et|y|e) )?| (?:and|und|et|y|e|&) /i;
/** Behind a date. */
const BY_WHOM = /[\s·•|]by\s+/i;

/** Names begin with capitals, in scripts that have them. */
const NAMES = /^\p{Lu}[\p{L}.'’-]*(?:(?:\s|,\s)(?:(?:and|und|et|y|e|&|de|van|von|der|la)\s)?\p{Lu}[\p{L}.'’-]*){0,7}$/u;
const WITHOUT_CAPITALS = /^[\p{Lo}\p{M}][\p{Lo}\p{M}\s・·.、,]{1,30}$/u;
/** A first and a last name at least. */
const FULL_NAME = /^\p{Lu}[\p{L}.'’-]*(?:\s(?:(?:de|van|von|der|den|la|le|du|bin|al)\s)?\p{Lu}[\p{L}.'’-]*){1,3}$/u;
const DATED = /\b(?:19|20)\d\d\b/;

/** Whether a text consists of names. */
export function isNames(text: string): boolean {
  return NAMES.test(text) || WITHOUT_CAPITALS.test(text);
}

/** A line without what stands around the name. Empty where there is no letter left. */
export function nameIn(line: string): string {
  const name = onOneLine(line.slice(0, LONGEST_LINE))
    .replace(MORE_BY, '')
    .replace(BY, '')
    .replace(LABEL, '')
    .replace(BEHIND_NAME, '')
    .trim();
  return /\p{L}/u.test(name) ? name : '';
}

/** The names that a byline joins, without what their bearers do. One that is not clearly several names is one. */
export function namesIn(line: string): string[] {
  const parts = onOneLine(line)
    .split(BETWEEN)
    .filter((part) => part !== '');
  const role = parts.findIndex((part, at) => at > 0 && ROLE.test(part));
  if (role > 0) return parts.slice(0, role);
  return parts.length > 1 && parts.every((part) => FULL_NAME.test(part)) ? parts : [line];
}

/** Whether a line says that the next one is a name. */
export function announcesName(line: string): boolean {
  return line.length < 30 && LABEL_ALONE.test(line);
}

/** The name in a line that says `By` or `Author:`, or that has a date and a name beside it; else ''. */
export function bylineIn(line: string): string {
  if (line.length >= LONGEST_NAME) return '';
  const by = BY_WHOM.exec(line);
  const behindDate = by && DATED.test(line.slice(0, by.index)) ? line.slice(by.index + by[0].length) : undefined;
  const said = behindDate ?? (BY.test(line) || LABEL.test(line) ? line : undefined);
  const name = said === undefined ? besideDate(line) : nameIn(said);
  return namesIn(name).every(isNames) ? name : '';
}

/** `March 3, 2025 · 5 min · Jane Doe`. */
function besideDate(line: string): string {
  const parts = onOneLine(line).split(/ ?[·•|–—] ?/);
  if (parts.length < 2 || !parts.some((part) => DATED.test(part))) return '';
  const names = parts.filter((part) => FULL_NAME.test(part) && part.split(' ').length < 4);
  return names.length === 1 ? names.join() : '';
}
