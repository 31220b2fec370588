import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import type { RunRecord } from '../../store/run-store.ts';
import { type ResearchCalls, type ResearchResult, researchResult as research } from './research-calls.ts';

const MAX_QUESTION = 100_000;
const question = z.string().min(1).max(MAX_QUESTION).describe('What to find out, in full sentences.');
const effort = z
  .enum(['low', 'medium', 'high'])
  .optional()
  .describe('How much is researched; the default is that of the model.');
const model = z.string().optional().describe('A research model of this gateway; its first one by default.');
const id = z.string().min(1).describe('Of a research, as research gave it: resp_...');
const idOrNewest = id.optional().describe('Of a research: resp_...; the newest one by default.');

/** The MCP server of one request: research as tools (docs/mcp.md). */
export function researchServer(calls: ResearchCalls): McpServer {
  const server = new McpServer({ name: 'research-gateway', version: packageJson.version });
  const run = async (started: Promise<RunRecord>, context: ServerContext) => {
    const record = await started;
    return await calls.waitFor(record, { signal: context.mcpReq.signal, report: progressReporter(context) });
  };
  server.registerTool(
    'research',
    {
      title: 'Research',
      description:
        'Researches a question on the web for minutes and returns a report with its sources. It goes on if you stop waiting: ask research_status and research_result later, without an id for the newest.',
      inputSchema: z.object({ question, effort, model }),
      outputSchema: research,
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    (input, context) => toolResult(calls, () => run(calls.start(input), context)),
  );
  server.registerTool(
    'follow_up',
    {
      title: 'Follow up',
      description: 'Asks a further question about a finished research; its sources and findings are known.',
      inputSchema: z.object({ id, question, effort, model }),
      outputSchema: research,
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    ({ id: follows, ...input }, context) => toolResult(calls, () => run(calls.start({ ...input, follows }), context)),
  );
  server.registerTool(
    'research_status',
    {
      title: 'Status of a research',
      description: 'Says whether a research is in progress, completed, failed or cancelled.',
      inputSchema: z.object({ id: idOrNewest }),
      outputSchema: research.pick({ id: true, status: true, error: true }),
      annotations: { readOnlyHint: true },
    },
    ({ id: input }) =>
      toolResult(calls, async () => {
        const { id, status, error } = await calls.find(input);
        return { id, status, ...(error !== undefined && { error }) };
      }),
  );
  server.registerTool(
    'research_result',
    {
      title: 'Result of a research',
      description: 'Returns the report of a research and its sources, or as much as there is of it.',
      inputSchema: z.object({ id: idOrNewest }),
      outputSchema: research,
      annotations: { readOnlyHint: true },
    },
    ({ id }) => toolResult(calls, () => calls.find(id)),
  );
  return server;
}

/** Sends progress notifications if the client requested them. */
function progressReporter({ mcpReq }: ServerContext): (what: string) => void {
  const progressToken = mcpReq._meta?.progressToken;
  let progress = 0;
  return (message) => {
    if (progressToken === undefined) return;
    progress += 1;
    // Fails if the client has disconnected.
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => {});
  };
}

/** The result of a tool: the report as text, everything as structured content, and errors that a model can read. */
async function toolResult(calls: ResearchCalls, work: () => Promise<Partial<ResearchResult> & { id: string }>) {
  try {
    const { ...structuredContent } = await work();
    const { report = '', sources = [] } = structuredContent;
    const list = sources.map(({ title, url }, at) => `${at + 1}. ${title}: ${url}`).join('\n');
    const text = [report || JSON.stringify(structuredContent), ...(list ? [`Sources:\n${list}`] : [])].join('\n\n');
    const isError = structuredContent.status === 'failed';
    return { content: [{ type: 'text' as const, text }], structuredContent, ...(isError && { isError }) };
  } catch (thrown) {
    const { code, message } = calls.failureOf(thrown);
    return { content: [{ type: 'text' as const, text: `${code}: ${message}` }], isError: true };
  }
}
