import { stripMarkup } from '../../../text/strip-markup.ts';

/** The shortest pause that begins a paragraph, in seconds. */
const PAUSE = 2;
/** A paragraph ends with the first sentence after this length, in characters. */
const LONG = 400;

/** Whether a text is WebVTT (W3C) by its first line, or SubRip by its first cue. */
export function isCaptions(text: string): boolean {
  const head = text.slice(0, 500);
  return (
    /^\ufeff?WEBVTT(?:\s|$)/.test(head) || /^\ufeff?\s*\d{1,6}[ \t]*\r?\n\d{1,3}:\d\d:\d\d[,.]\d{3}[ \t]*-->/.test(head)
  );
}

/** The spoken text of WebVTT or SubRip, without times and without the lines that rolling captions repeat. */
export function readCaptions(text: string): string {
  const paragraphs: string[] = [];
  let paragraph = '';
  let last = '';
  let end = 0;
  for (const cue of text.replace(/\r\n?/g, '\n').split(/\n[ \t]*\n/)) {
    const found = /^(?:[^\n]*\n)?[ \t]*(\S+)[ \t]*-->[ \t]*(\S+)[^\n]*\n?/.exec(cue);
    if (!found) continue;
    const [times, from = '', to = ''] = found;
    const lines = cue
      .slice(times.length)
      .split('\n')
      .map(spokenLine)
      .filter((line) => line !== '');
    const fresh = lines.filter((line, at) => line !== last && line !== lines[at - 1]);
    last = lines.at(-1) ?? last;
    const isNew = secondsOf(from) - end >= PAUSE || (paragraph.length > LONG && /[.!?…。！？]["”]?$/.test(paragraph));
    end = secondsOf(to);
    for (const line of fresh) {
      const isSpeaker = /^(?:-|>>|[\p{Lu}][\p{L} .]{0,30}:)/u.test(line);
      if ((isNew && line === fresh[0]) || isSpeaker) {
        if (paragraph !== '') paragraphs.push(paragraph);
        paragraph = line;
      } else paragraph += `${paragraph === '' ? '' : ' '}${line}`;
    }
  }
  if (paragraph !== '') paragraphs.push(paragraph);
  return paragraphs.join('\n\n');
}

/** A line without markup, after the name of its speaker. */
function spokenLine(line: string): string {
  const voice = /<v(?:\.[\w.-]{1,40})?[ \t]+([^<>]{1,80})>/.exec(line)?.[1]?.trim();
  // Styles of SubRip, and times of single words in WebVTT.
  const text = stripMarkup(line.replace(/\{\\[^}]{0,40}\}|<[\d:.]{1,20}>/g, ''));
  return voice && text !== '' ? `${voice}: ${text}` : text;
}

/** Converts `01:02:03.456` or `02:03,456` to seconds. */
function secondsOf(time: string): number {
  return time.split(':').reduce((sum, part) => sum * 60 + (Number(part.replace(',', '.')) || 0), 0);
}
