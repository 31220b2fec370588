import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { silentLogger } from '../../../src/base/logger.ts';
import { answerPart, type UrlCitation } from '../../../src/protocol/items.ts';
import type { ResponseObject } from '../../../src/protocol/response.ts';
import { startGateway } from '../../../src/server.ts';
import { askGateway, gatewayConfig } from '../evaluate.ts';
import { startResearcher } from '../researcher-server.ts';
import { type PlantedReport, pathOf, plantedModel, plantedReports, questionOf } from './planted-reports.ts';

/** What became of the sentences of scripted reports; shares from 0 to 1. */
export interface ReportScore {
  /** Whether the model looks at what the rules doubt. */
  verify: boolean;
  reports: number;
  sentences: number;
  /** Of what is invented: `partial`, `none`, or gone. */
  found: number;
  /** Of what is supported: the same. */
  doubted: number;
  /** `cited_text` that does not stand word for word in its document. */
  misquoted: number;
  /** Reports that did not complete with all of their sections. */
  broken: number;
}

/** Has scripted reports written, without and with the model's own check; `isGood` where no limit is missed. */
export async function runReports(options: {
  reports: number;
  json: boolean;
}): Promise<{ text: string; isGood: boolean }> {
  const reports = await plantedReports(options.reports);
  const scores: ReportScore[] = [];
  for (const verify of [false, true]) scores.push(await scoreReports(reports, verify));
  const isGood = scores.every((score) => missedBy(score).length === 0);
  const text = options.json ? JSON.stringify(scores, null, 2) : scores.map(lineOf).join('\n');
  return { text: `${text}\n`, isGood };
}

/** What a score missed, in words. The rules alone are not held to the shares. */
export function missedBy({ verify, found, doubted, misquoted, broken }: ReportScore): string[] {
  return [
    ...(verify && found < 0.95 ? ['less than 95 % of what is invented is found'] : []),
    ...(verify && doubted > 0.03 ? ['more than 3 % of what is supported is doubted'] : []),
    ...(misquoted > 0 ? [`${misquoted} passages do not stand in their source`] : []),
    ...(broken > 0 ? [`${broken} reports are not whole`] : []),
  ];
}

function lineOf(score: ReportScore): string {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const missed = missedBy(score).map((line) => `\n  ${line}`);
  return (
    `${score.verify ? 'with a model that is right' : 'rules alone'}: ${score.reports} reports, ${score.sentences} sentences, ` +
    `invented found ${percent(score.found)}, supported doubted ${percent(score.doubted)}${missed.join('')}`
  );
}

async function scoreReports(reports: readonly PlantedReport[], verify: boolean): Promise<ReportScore> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-eval-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  for (const report of reports) {
    for (const [index, { title, text }] of report.documents.entries()) {
      const path = join(folder, pathOf(report, index));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `# ${title}\n\n${text}\n`);
    }
  }
  const model = stack.use(await startResearcher(plantedModel(reports)));
  const config = gatewayConfig({ baseUrl: model.url, model: 'scripted' }, { folder });
  const gateway = stack.use(await startGateway({ config, log: silentLogger }));
  const judged: Judged[] = [];
  let broken = 0;
  for (const report of reports) {
    const research = { report: 'full', verify } as const;
    const response = await askGateway(gateway.url, { text: questionOf(report), effort: 'medium', research });
    const isWhole = report.documents.every(({ title }) => response.output_text.includes(`## ${title}`));
    if (response.status !== 'completed' || !isWhole) broken++;
    judged.push(...judge(report, response));
  }
  const [supported = [], invented = []] = [true, false].map((is) => judged.filter(({ isTrue }) => isTrue === is));
  const doubtful = (of: readonly Judged[]) => of.filter(({ isDoubted }) => isDoubted).length / Math.max(1, of.length);
  return {
    verify,
    reports: reports.length,
    sentences: judged.length,
    found: doubtful(invented),
    doubted: doubtful(supported),
    misquoted: judged.filter(({ isMisquoted }) => isMisquoted).length,
    broken,
  };
}

interface Judged {
  isTrue: boolean;
  isDoubted: boolean;
  isMisquoted: boolean;
}

/** How each planted sentence stands in a report. */
function judge({ documents }: PlantedReport, { output, output_text: text }: ResponseObject): Judged[] {
  const annotations: UrlCitation[] = output.flatMap((item) =>
    item.type === 'message' ? (answerPart(item)?.annotations ?? []) : [],
  );
  return documents.flatMap(({ sentences, title, text: document }) =>
    sentences.map(({ sentence, kind }) => {
      const at = text.indexOf(`${sentence} [`);
      const own = at === -1 ? undefined : annotations.find((each) => each.start_index === at + sentence.length + 1);
      const words = own?.cited_text ?? '';
      return {
        isTrue: kind === 'supported',
        isDoubted: own?.support !== 'quoted',
        isMisquoted: !`# ${title}\n\n${document}`.includes(words),
      };
    }),
  );
}
