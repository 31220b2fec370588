/**
 * The program of a sandbox process. It loads Pyodide, then runs one job. It may import only what its permissions let it
 * read: this folder, Node's built-ins and Pyodide. Arguments: Pyodide's folder, and `from-snapshot` if descriptor 4
 * is a memory snapshot to start from.
 */
import { strict as assert } from 'node:assert';
import fs from 'node:fs';
import process from 'node:process';
import type { Job } from '../messages.ts';
import { disarm, prepareForPyodide, removeBridges } from './disarm.ts';
import { loadPython } from './load.ts';
import { OutputStream, type ReportWriter } from './output.ts';

const REPORT_FD = 3;
const SNAPSHOT_FD = 4;

const [, , pyodideFolder, start] = process.argv;
assert(pyodideFolder, 'the folder of pyodide is the first argument');
const exit = process.exit.bind(process);
const stdin = process.stdin;

prepareForPyodide(process);
const python = await loadPython(pyodideFolder, start === 'from-snapshot' ? { _loadSnapshot: readSnapshot() } : {});
const scope = python.toPy({});
python.runPython(fs.readFileSync(new URL('./driver.py', import.meta.url), 'utf8'), {
  globals: scope,
  filename: '<sandbox>',
});
const run = scope.get('run');
removeBridges(python);
disarm(process);

fs.writeSync(REPORT_FD, 'ready\n');
const job = await readJob();
const report = createReporter(job.nonce);
const stdout = new OutputStream('stdout', job.limits.stdout, report);
const stderr = new OutputStream('stderr', job.limits.stderr, report);
python.setStdout({ write: (bytes: Uint8Array) => stdout.write(bytes) });
python.setStderr({ write: (bytes: Uint8Array) => stderr.write(bytes) });
const outcome: unknown = await run(job.code, job.limits.result);
stdout.end();
stderr.end();
report({ type: 'end', outcome: typeof outcome === 'string' ? outcome : '' });

/** Reads the snapshot without moving the position of its descriptor, which other sandboxes share. */
function readSnapshot(): Uint8Array {
  const bytes = new Uint8Array(fs.fstatSync(SNAPSHOT_FD).size);
  for (let read = 0; read < bytes.length; ) {
    const count = fs.readSync(SNAPSHOT_FD, bytes, { offset: read, position: read });
    assert(count > 0, 'the snapshot is cut');
    read += count;
  }
  return bytes;
}

/** Reads the job from the first line of standard input. When standard input ends, the gateway is gone, so this exits. */
function readJob(): Promise<Job> {
  return new Promise((resolve) => {
    let text = '';
    stdin.setEncoding('utf8');
    stdin.on('data', (chunk: string) => {
      text += chunk;
      if (text.endsWith('\n')) resolve(JSON.parse(text));
    });
    stdin.on('end', () => exit(0));
    stdin.on('error', () => exit(0));
  });
}

/** Creates a writer of reports with the nonce, which stays in a closure that no object within Python's reach refers to. */
function createReporter(nonce: string): ReportWriter {
  return (message) => {
    fs.writeSync(REPORT_FD, `${nonce} ${JSON.stringify(message)}\n`);
  };
}
