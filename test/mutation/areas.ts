/** Which tests watch which files, the quickest first: what `npm run mutate -- --draw` spoils, and with what it looks. */
export interface Area {
  files: string;
  /** Run one after the other until one notices. */
  stages: readonly (readonly string[])[];
}

const RUNS_OVER_HTTP = [
  'create-response',
  'stored-responses',
  'tasks',
  'chat-completions',
  'lists',
  'threads',
  'ownership',
];
const PROXY_OVER_HTTP = [
  'proxy-*',
  'unusable-answers',
  'continued-streams',
  'streamed-passage',
  'passthrough',
  'hostile-answers',
  'quoted-credentials',
  'long-answers',
  'costs*',
  'provider-catalogue',
];

export const AREAS: readonly Area[] = [
  {
    files: 'src/runs/**/*.ts',
    stages: [['test/unit/runs/*.test.ts'], ['test/contract/executor.test.ts'], overHttp(RUNS_OVER_HTTP)],
  },
  {
    files: 'src/store/{sqlite,shared}/**/*.ts',
    stages: [
      ['test/unit/store/*.test.ts', 'test/contract/*.{sqlite,shared}.test.ts', 'test/contract/stored-versions.test.ts'],
      ['test/contract/{limits,conversations,executor}.test.ts', 'test/integration/store/sqlite*.test.ts'],
    ],
  },
  {
    files: 'src/store/redis/**/*.ts',
    stages: [
      ['test/unit/store/*.test.ts', 'test/contract/*.redis.test.ts', 'test/contract/stored-versions.test.ts'],
      ['test/contract/{limits,conversations,executor}.test.ts', 'test/integration/store/redis*.test.ts'],
    ],
  },
  {
    files: 'src/store/*.ts',
    stages: [
      ['test/unit/store/*.test.ts', 'test/contract/*.{sqlite,shared,redis}.test.ts'],
      ['test/contract/limits.test.ts', 'test/unit/runs/*.test.ts'],
    ],
  },
  { files: 'src/gateway/**/*.ts', stages: [['test/unit/gateway/*.test.ts'], overHttp(PROXY_OVER_HTTP)] },
  {
    files: 'src/http/limits/*.ts',
    stages: [
      ['test/unit/http/*.test.ts'],
      overHttp(['limits*', 'bounds', 'bodies', 'long-answers', 'early-refusals', 'keys', 'costs*']),
    ],
  },
  {
    files: 'src/research/answer/**/*.ts',
    stages: [
      ['test/unit/research/*.test.ts'],
      ['test/integration/research/*.test.ts', ...overHttp(['create-response', 'research-tools'])],
    ],
  },
];

function overHttp(names: readonly string[]): string[] {
  return names.map((name) => `test/http/${name}.test.ts`);
}
