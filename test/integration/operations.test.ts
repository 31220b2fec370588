import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { z } from 'zod';
import { isErrorCode } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { addCommands } from '../../src/cli/commands.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { knownKeys } from '../../src/config/known-keys.ts';
import { configSchema } from '../../src/config/schema.ts';
import { overview } from '../../src/protocol/operating/overview.ts';
import { startGateway } from '../../src/server.ts';
import { KEYS, until } from '../support/http-gateway.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { namesIn, type QueryNames } from '../support/promql.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { stallAfter, startScriptedProvider } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { RecordedTerminal } from '../unit/cli/recorded-terminal.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'docs/operations');
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

/** Pages about tasks; all others are about a symptom. */
const WORK = new Set(['README.md', 'sizing.md', 'backup.md', 'upgrade.md']);
const PAGES = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
/** All pages that operators read. */
const HANDBOOK = [
  join(ROOT, 'README.md'),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(ROOT, 'docs', name)),
];
const NO_PARTS = {
  environment: readEnvironment({}),
  terminal: new RecordedTerminal(),
  startGateway: () => Promise.reject(new Error('not to be started')),
  projectRoot: ROOT,
  version: '0',
};

const rule = z.strictObject({
  alert: z.string().regex(/^[A-Z][A-Za-z]+$/),
  expr: z.string().min(1),
  for: z.string().regex(/^\d+[smhd]$/),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.strictObject({ summary: z.string().min(1), description: z.string().min(1), runbook: z.string() }),
});
const ruleFile = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string().min(1), rules: z.array(rule).min(1) })).min(1),
});

const place = z.strictObject({ x: z.int(), y: z.int(), w: z.int().positive(), h: z.int().positive() });
const source = z.strictObject({ type: z.literal('prometheus'), uid: z.literal(`\${datasource}`) });
const target = z.object({ refId: z.string(), expr: z.string().min(1), legendFormat: z.string(), datasource: source });
const panel = z.object({
  id: z.int(),
  type: z.enum(['row', 'stat', 'timeseries']),
  title: z.string().min(1),
  gridPos: place,
  targets: z.array(target).min(1).optional(),
});
const dashboardFile = z.object({
  uid: z.string().min(1),
  title: z.string().min(1),
  schemaVersion: z.int().positive(),
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.unknown() })) }),
  panels: z.array(panel).min(1),
});

const RULES = ruleFile.parse(parse(read('alerts.yaml'))).groups.flatMap(({ rules }) => rules);
const DASHBOARD = dashboardFile.parse(JSON.parse(read('dashboard.json')));
const QUERIES = [
  ...RULES.map(({ alert, expr }) => ({ where: alert, expr })),
  ...DASHBOARD.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ where: title, expr }))),
];

/** Labels that Prometheus itself adds. */
const OF_PROMETHEUS = ['job', 'instance'];

/** Checks for the values of labels whose values the code knows. */
const VALUES: Readonly<Record<string, (value: string) => boolean>> = {
  code: isErrorCode,
  state: oneOf('queued', 'in_progress'),
  status: (value) => /^\d(?:\d\d|\.\.)$/.test(value) || oneOf('completed', 'failed', 'cancelled')(value),
  outcome: oneOf('ok', 'left', 'timeout', 'rate_limit', 'context_length', 'refused', 'failed'),
  job: oneOf('research-gateway'),
};

function oneOf(...known: string[]): (value: string) => boolean {
  return (value) => known.includes(value);
}

/** A real gateway, started as `serve` does, that has done no work yet. */
async function openGateway(options: { registry?: Registry; store?: string; provider?: string } = {}) {
  const config = configSchema.parse({
    server: { port: 0, shutdown_grace_seconds: 0.5 },
    store: { url: options.store ?? 'memory:' },
    files: { enabled: false },
    runs: { max_concurrent: 1 },
    providers: { demo: options.provider === undefined ? { builtin: 'demo' } : { base_url: options.provider } },
    models: {
      demo: { kind: 'proxy', routes: [{ provider: 'demo', model: 'demo' }] },
      deep: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] },
    },
    keys: [{ id: 'ann', secret: KEYS.ann, admin: true }],
  });
  const { registry } = options;
  return await startGateway({ config, log: silentLogger, load: IDLE_LOAD, ...(registry && { registry }) });
}

async function metricsPage({ url }: { url: string }): Promise<string> {
  const answer = await fetch(`${url}/metrics`);
  assert.equal(answer.status, 200);
  return await answer.text();
}

/** The names under which Prometheus stores the metrics of a page. */
function namesOn(page: string): Set<string> {
  const names = [...page.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  return new Set(names);
}

const labelled = z.object({ labelNames: z.array(z.string()) });

describe('docs/operations', () => {
  const registry = new Registry();
  let names: Set<string>;
  before(async () => {
    await using gateway = await openGateway({ registry });
    names = namesOn(await metricsPage(gateway));
  });

  /** The labels that a metric may have. */
  function labelsOf(metric: string): string[] {
    if (metric === 'up') return OF_PROMETHEUS;
    const base = metric.replace(/_(bucket|sum|count)$/, '');
    const found = registry.getSingleMetric(metric) ?? registry.getSingleMetric(base);
    const own = labelled.parse(found).labelNames;
    return [...own, ...OF_PROMETHEUS, ...(metric.endsWith('_bucket') ? ['le'] : [])];
  }

  it('uses only metrics, labels and values that exist in its alerts and dashboard', () => {
    assert.ok(names.size > 40, 'a gateway shows metrics');
    for (const { where, expr } of QUERIES) {
      const found: QueryNames = namesIn(expr);
      assert.notEqual(found.selectors.length, 0, where);
      for (const { metric, labels } of found.selectors) {
        assert.ok(metric === 'up' || names.has(metric), `${where}: ${metric}`);
        for (const { name, values } of labels) {
          assert.ok(labelsOf(metric).includes(name), `${where}: ${metric}{${name}}`);
          for (const value of values.filter((text) => text !== '' && !text.startsWith('$'))) {
            assert.ok(VALUES[name]?.(value) ?? true, `${where}: ${name}="${value}"`);
          }
        }
      }
      const known = new Set(found.selectors.flatMap(({ metric }) => labelsOf(metric)));
      assert.deepEqual(
        found.grouped.filter((name) => !known.has(name)),
        [],
        where,
      );
    }
  });

  it('has alerts with unique names that each link to a page', () => {
    assert.equal(new Set(RULES.map(({ alert }) => alert)).size, RULES.length);
    for (const { alert, annotations } of RULES) {
      assert.match(annotations.runbook, /^docs\/operations\/[\w-]+\.md$/, alert);
      assert.ok(existsSync(join(ROOT, annotations.runbook)), `${alert}: ${annotations.runbook}`);
    }
    const led = new Set(RULES.map(({ annotations }) => annotations.runbook.replace('docs/operations/', '')));
    assert.deepEqual(
      PAGES.filter((page) => !WORK.has(page) && !led.has(page)),
      [],
      'each symptom has an alert',
    );
  });

  it('leaves probes of health and metrics out of the shares of requests', () => {
    for (const { alert, expr } of RULES) {
      const requests = namesIn(expr).selectors.filter(({ metric }) => metric === 'gateway_http_requests_total');
      for (const { labels } of requests)
        assert.ok(
          labels.some(({ name }) => name === 'route'),
          alert,
        );
    }
  });

  it('has a dashboard whose panels do not overlap', () => {
    const { panels, templating } = DASHBOARD;
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      assert.ok(gridPos.x + gridPos.w <= 24, title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.ok(!taken.has(`${x} ${y}`), `${title} lies on another panel`);
          taken.add(`${x} ${y}`);
        }
      }
    }
    const variables = new Set([...templating.list.map(({ name }) => name), '__rate_interval']);
    for (const { where, expr } of QUERIES) {
      for (const [, name = ''] of expr.matchAll(/\$(?!labels|value)(\w+)/g)) assert.ok(variables.has(name), where);
    }
    for (const [, metric = ''] of JSON.stringify(templating).matchAll(/label_values\((\w+)/g)) {
      assert.ok(names.has(metric), metric);
    }
  });

  for (const page of PAGES) {
    it(`${page} names only metrics, labels and alerts that exist`, () => {
      const text = read(page);
      const named = [...text.matchAll(/\b(?:gateway|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name);
      assert.deepEqual(
        named.filter((name) => !names.has(name)),
        [],
      );
      for (const [, metric = '', matchers = ''] of text.matchAll(/\b(gateway_\w+)\{([^}]*)\}/g)) {
        for (const [, name = ''] of matchers.matchAll(/(\w+)=/g)) {
          assert.ok(labelsOf(metric).includes(name), `${metric}{${name}}`);
        }
      }
      for (const [, name = ''] of text.matchAll(/alert `([A-Za-z]+)`/g)) {
        assert.ok(
          RULES.some(({ alert }) => alert === name),
          `the alert ${name}`,
        );
      }
    });

    if (!WORK.has(page)) {
      it(`${page} says what you see, what is measured, where to look and what to do`, () => {
        const text = read(page);
        const chapters = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
        assert.deepEqual(chapters, ['What you see', 'What is measured', 'Where to look', 'What to do']);
        assert.match(text, /`gateway_\w+|`process_\w+/);
      });
    }

    it(`${page} is linked in the index`, () => {
      assert.ok(page === 'README.md' || read('README.md').includes(`](${page})`));
    });
  }

  it('has only commands that the command line takes', async () => {
    let first: unknown;
    const record =
      () =>
      async (...args: unknown[]) => {
        first = args[0];
      };
    let seen = 0;
    for (const page of HANDBOOK) {
      const pieces = readFileSync(page, 'utf8').match(/```[\s\S]*?```|`[^`\n]+`/g) ?? [];
      // There `research-gateway` is the name of a resource, not the command.
      const code = pieces
        .flatMap((piece) => piece.split('\n'))
        .filter((line) => !/\b(?:kubectl|helm|docker)\b/.test(line));
      for (const [, line = ''] of code
        .join('\n')
        .matchAll(/(?<![\w/@-])research-gateway((?: [^\n`|#;&>)]+)?)(?![\w./:@-])/gm)) {
        const program = new Command('research-gateway').exitOverride().configureOutput({ writeErr: () => {} });
        addCommands(program, NO_PARTS, record);
        const words = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
        const refused = await program.parseAsync(words, { from: 'user' }).then(
          () => undefined,
          (thrown) => thrown.code,
        );
        // `research-gateway keys rotate` in a sentence names a command, and gives it no arguments.
        const isName = /^commander\.(?:missingArgument|help)$/.test(refused) && /^[a-z ]*$/.test(line);
        assert.ok(refused === undefined || isName, `${page}: research-gateway${line}: ${refused}`);
        const question = /^ ask .*"(.+)"/.exec(line)?.[1];
        if (question !== undefined) assert.equal(first, question, `${page}: research-gateway${line}`);
        seen += 1;
      }
    }
    assert.ok(seen > 20, `${seen}`);
  });

  it('names only settings that exist', () => {
    const sections = Object.keys(configSchema.shape);
    const wrong: string[] = [];
    let seen = 0;
    for (const page of HANDBOOK) {
      for (const [, text = ''] of readFileSync(page, 'utf8').matchAll(/`([a-z_]+(?:\.[a-z_]+)+)(?:`|: )/g)) {
        const path = text.split('.');
        const key = path.pop() ?? '';
        if (!sections.includes(path[0] ?? '') || ['ts', 'js', 'md', 'db', 'list', 'retrieve'].includes(key)) continue;
        const { matching: fitting, others } = knownKeys(path, {});
        if (![...fitting, ...others].includes(key)) wrong.push(`${page}: ${text}`);
        seen += 1;
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(seen > 60, `${seen}`);
  });

  it('has filters of the overview that jq takes, with fields that exist', async () => {
    const jq = (input: string, ...args: string[]) => spawnSync('jq', args, { input, encoding: 'utf8' });
    const hasJq = jq('', '--version').status === 0;
    const known = JSON.stringify(z.toJSONSchema(overview, { unrepresentable: 'any' }));
    await using gateway = await openGateway();
    const answer = await fetch(`${gateway.url}/admin/overview`, { headers: { authorization: `Bearer ${KEYS.ann}` } });
    const shown = await answer.text();
    let seen = 0;
    for (const page of PAGES) {
      for (const [, filter = ''] of read(page).matchAll(/jq '([^']+)'/g)) {
        for (const [name] of filter.matchAll(/[a-z_]\w*/g)) {
          assert.ok(known.includes(`"${name}":`), `${page}: ${name}`);
          seen++;
        }
        if (hasJq) assert.equal(jq(shown, filter).stderr, '', `${page}: ${filter}`);
      }
    }
    assert.ok(seen > 8, `${seen}`);
  });

  it('requests only paths that the gateway serves', async () => {
    await using gateway = await openGateway();
    let requestCount = 0;
    for (const page of PAGES) {
      for (const [, path = ''] of read(page).matchAll(/\$(?:ADMIN|GATEWAY)(\/[\w/.]+)/g)) {
        const headers = { authorization: `Bearer ${KEYS.ann}` };
        const answer = await fetch(gateway.url + path, { headers });
        const body = await answer.text();
        assert.notEqual(answer.status, 404, `${page}: ${path} does not exist: ${body}`);
        requestCount++;
      }
    }
    assert.ok(requestCount > 10);
  });

  describe('with promtool', function () {
    // The rules are evaluated every minute of 30 hours.
    this.timeout(patience(30));
    before(function () {
      if (spawnSync('promtool', ['--version']).status === 0) return;
      console.warn('      skipped: there is no promtool in the PATH; it comes with Prometheus');
      this.skip();
    });

    const promtool = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
      assert.equal(status, 0, `${stdout}${stderr}`);
    };

    it('its alerts are valid and fire when they should', () => {
      promtool('check', 'rules', join(FOLDER, 'alerts.yaml'));
      promtool('test', 'rules', join(ROOT, 'test/fixtures/alerts.test.yaml'));
    });

    it('the queries of its dashboard are valid', () => {
      const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
      try {
        const rules = QUERIES.map(({ expr }, n) => ({
          record: `query:${n}`,
          expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
        }));
        writeFileSync(join(folder, 'queries.yaml'), JSON.stringify({ groups: [{ name: 'queries', rules }] }));
        promtool('check', 'rules', join(folder, 'queries.yaml'));
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  });

  it('/metrics tells chats that wait for their turn from runs without an instance, which the alert RunsNotDriven reports', async () => {
    await using provider = await startScriptedProvider({ respond: () => stallAfter(1, { text: 'an answer' }) });
    await using gateway = await openGateway({ provider: provider.url });
    const leave = new AbortController();
    const chat = () =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.ann}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'deep', messages: [{ role: 'user', content: 'Why?' }] }),
        signal: leave.signal,
      });
    const chats = [chat(), chat()];
    const shown = ['open{state="in_progress"} 2', 'executing 1', 'waiting 1'];
    await until(async () => {
      const lines = (await metricsPage(gateway)).split('\n');
      return shown.every((line) => lines.includes(`gateway_runs_${line}`)) || undefined;
    });
    leave.abort();
    await Promise.allSettled(chats);
  });

  describe('while Redis is away', function () {
    // Redis is started and killed.
    this.timeout(patience(30));
    let redis: RedisServer;
    before(async function () {
      redis = await redisOrSkip(this);
    });
    after(() => redis?.[Symbol.asyncDispose]());

    it('/metrics has no gateway_runs_open, which the alert GatewayStoreAway checks', async () => {
      await using gateway = await openGateway({ store: redis.url });
      assert.match(await metricsPage(gateway), /^gateway_runs_open\{state="queued"\} 0$/m);
      await redis.kill();
      await until(async () => (/^gateway_runs_open\{/m.test(await metricsPage(gateway)) ? undefined : true));
      await redis.start();
      await until(async () => (/^gateway_runs_open\{/m.test(await metricsPage(gateway)) ? true : undefined));
    });
  });
});
