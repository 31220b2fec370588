/** An event of a trace that Chromium wrote: times in microseconds, `tdur` the CPU time of its thread. */
interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  ts: number;
  tdur?: number;
}

/**
 * CPU milliseconds that the page's main thread spent on each frame, scripts, style, layout and paint together: what ran
 * since the frame before. CPU time, because the wall clock of a busy machine says how busy it is.
 */
export function cpuOfFrames(trace: Buffer): number[] {
  const { traceEvents }: { traceEvents: TraceEvent[] } = JSON.parse(trace.toString('utf8'));
  const commits = traceEvents.filter(({ name }) => name === 'Commit');
  const thread = mostFrequent(commits.map(({ pid, tid }) => `${pid} ${tid}`));
  const own = traceEvents.filter(({ pid, tid }) => `${pid} ${tid}` === thread).sort((a, b) => a.ts - b.ts);
  const frames: number[] = [];
  let spent = 0;
  for (const { name, tdur = 0 } of own) {
    if (name === 'RunTask') spent += tdur / 1000;
    if (name !== 'Commit') continue;
    frames.push(spent);
    spent = 0;
  }
  return frames;
}

function mostFrequent(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
