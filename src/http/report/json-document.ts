import { Lexer } from 'marked';
import { FORMULAS } from '../../protocol/formula/formulas.js';
import type { ReportObject } from '../../protocol/report.ts';
import type { Report } from '../../runs/projections/report.ts';
import { dateOf } from './markdown.ts';
import { highestHeading, textOfTokens } from './plain-text.ts';

/** Sections begin at headings of this level or above; if there are none, at the highest headings that there are. */
const SECTION_LEVEL = 2;

/** The report as JSON, with its text split into sections. */
export function reportJson(report: Report): string {
  const { title, fullQuestion, model, endedAt, sources, notes, claims, usage } = report;
  const document: ReportObject = {
    title,
    question: fullQuestion,
    date: dateOf(endedAt),
    model,
    sections: sectionsOf(report.text),
    sources: sources.map(({ number, url, title, date, verified, quotes }) => ({
      index: number,
      url,
      title,
      ...(date !== undefined && { date }),
      verified,
      quotes,
    })),
    notes,
    claims,
    usage,
  };
  // Many parsers refuse lone surrogates.
  const wellFormed = (_key: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);
  return `${JSON.stringify(document, wellFormed, 2)}\n`;
}

function sectionsOf(text: string): ReportObject['sections'] {
  const tokens = new Lexer({ gfm: true, extensions: FORMULAS }).lex(text);
  const level = Math.max(SECTION_LEVEL, highestHeading(tokens));
  const sections: { heading: string | null; parts: string[] }[] = [{ heading: null, parts: [] }];
  for (const token of tokens) {
    if (token.type === 'heading' && token.depth <= level) {
      sections.push({ heading: textOfTokens(token.tokens ?? []).trim(), parts: [] });
    } else sections.at(-1)?.parts.push(token.raw);
  }
  return sections
    .map(({ heading, parts }) => ({ heading, text: parts.join('').trim() }))
    .filter(({ heading, text }) => heading !== null || text !== '');
}
