/** A program that owns Python sandboxes: runs one call, prints the sandboxes' process ids, and waits to be killed. */
import { silentLogger } from '../../src/base/logger.ts';
import { createExecutePythonTool } from '../../src/tools/execute-python/execute-python.ts';

const tool = createExecutePythonTool({ timeoutSeconds: 60 });
const context = { signal: new AbortController().signal, log: silentLogger };
await tool.call({ code: '1' }, context);
void tool.call({ code: 'import asyncio; await asyncio.sleep(1e6)' }, context);
process.stdout.write(`${JSON.stringify(tool.pids)}\n`);
setInterval(() => {}, 60_000);
