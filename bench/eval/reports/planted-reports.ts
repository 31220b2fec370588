import { type ClaimPair, readPairs } from '../claims/pairs.ts';
import type { ResearcherTurn, SentMessage } from '../researcher.ts';

/** A report that a scripted model writes: one section a document, of what the document says and of what it does not. */
export interface PlantedReport {
  /** Its number stands in the question. */
  number: number;
  documents: PlantedDocument[];
}

export interface PlantedDocument {
  title: string;
  text: string;
  sentences: Pick<ClaimPair, 'sentence' | 'kind'>[];
}

const DOCUMENTS = 5;

/** Reports of pairs that no rule was made with, in the order of their documents, as many as there are or fewer. */
export async function plantedReports(most: number): Promise<PlantedReport[]> {
  const pairs = [...(await readPairs('held-out')), ...(await readPairs('noisy-pages'))];
  const documents = [...Map.groupBy(pairs, ({ passage }) => passage).values()].map(documentOf);
  const count = Math.min(most, Math.floor(documents.length / DOCUMENTS));
  return Array.from({ length: count }, (_, at) => ({
    number: at + 1,
    documents: documents.slice(at * DOCUMENTS, (at + 1) * DOCUMENTS),
  }));
}

function documentOf(pairs: readonly ClaimPair[]): PlantedDocument {
  return { title: pairs[0]?.subject ?? '', text: pairs[0]?.passage ?? '', sentences: [...pairs] };
}

export function pathOf({ number }: PlantedReport, document: number): string {
  return `report-${number}/${document + 1}.md`;
}

export function questionOf({ number }: PlantedReport): string {
  return `Write report ${number} of the collection, in full.`;
}

/** A model that reads all documents of a report and writes each sentence with its marker; asked about one, it is right. */
export function plantedModel(reports: readonly PlantedReport[]) {
  return (messages: readonly SentMessage[], { tools }: { tools: boolean }): ResearcherTurn => {
    const [system = '', ...others] = messages.map(({ content }) => String(content ?? ''));
    const all = others.join('\n');
    if (system.startsWith('You check sentences')) return say(verdicts(all, reports));
    const report = reports.find(({ number }) => all.includes(`Write report ${number} of`));
    if (!report) return say('I cannot make out the question.');
    const section = /Write section (\d+) of/.exec(all)?.[1];
    if (section !== undefined) return say(sectionText(report.documents[Number(section) - 1], all));
    if (!tools) return say(JSON.stringify(report.documents.map((document) => outlined(document, all))));
    const isRead = messages.some(({ role }) => role === 'tool');
    const calls = report.documents.map((_, index) => ({
      name: 'fetch_url_content',
      arguments: { url: `corpus:///${pathOf(report, index)}` },
    }));
    return { text: isRead ? 'I have read all of it.' : 'I read the documents.', calls: isRead ? [] : calls };
  };
}

function say(text: string): ResearcherTurn {
  return { text, calls: [] };
}

/** A section with the records of its source: those whose source was read under its title. */
function outlined(document: PlantedDocument, messages: string): object {
  const source = sourceOf(document, messages);
  const records = [...messages.matchAll(/^(\d+)\. \[(\d+)\]/gm)].filter(([, , id]) => id === source);
  const { title } = document;
  return { heading: title, aim: `What is known of ${title}.`, records: records.map(([, number]) => Number(number)) };
}

/** The number of a document's source, as the records of an outline or of a section tell it. */
function sourceOf({ title, text }: PlantedDocument, messages: string): string | undefined {
  const lines = [...messages.matchAll(/^(?:\d+\. )?\[(\d+)\] (?:# )?(.+)$/gm)];
  return lines.find(([, , said = '']) => said.startsWith(title) || (said.length > LABEL && text.includes(said)))?.[1];
}

/** Shorter records stand in many documents, in UTF-16 code units. */
const LABEL = 24;

function sectionText(document: PlantedDocument | undefined, messages: string): string {
  if (!document) return '';
  const source = sourceOf(document, messages) ?? '?';
  return document.sentences.map(({ sentence }) => `${sentence} [${source}]`).join('\n\n');
}

/** Drops what is invented, and names the words of the source that come nearest for the rest. */
function verdicts(messages: string, reports: readonly PlantedReport[]): string {
  const planted = reports.flatMap(({ documents }) => documents.flatMap(({ sentences }) => sentences));
  const passages = new Map([...messages.matchAll(/^\[(\d+)\] (.+)$/gm)].map(([, id = '', said]) => [id, said]));
  const asked = messages.split(/^(?=\d+\. )/m).flatMap((block) => {
    const n = Number(/^(\d+)\. /.exec(block)?.[1]);
    const [line = ''] = block.split('\n', 1);
    const own = planted.find(({ sentence }) => line.includes(sentence));
    if (!own) return [];
    const passage = passages.get(/\[(\d+)\]/.exec(line)?.[1] ?? '');
    return [own.kind === 'supported' && passage !== undefined ? { n, passage } : { n, drop: own.kind !== 'supported' }];
  });
  return JSON.stringify(asked);
}
