import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';
import { isObject } from '../../src/base/json.ts';
import { loadExample, readExample, startExample, variablesReadBy } from '../support/example-gateways.ts';
import { namesIn } from '../support/promql.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { patience } from '../support/time-limit.ts';

const CHART = fileURLToPath(new URL('../../docs/examples/helm', import.meta.url));

const labels = z.record(z.string(), z.string());
const metadata = z.strictObject({ name: z.string().min(1), labels });
const selector = z.strictObject({ matchLabels: labels });
const httpProbe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }),
  periodSeconds: z.int().positive(),
  timeoutSeconds: z.int().positive().optional(),
  failureThreshold: z.int().positive(),
});
const volume = z.strictObject({
  name: z.string(),
  configMap: z.strictObject({ name: z.string() }).optional(),
  emptyDir: z.strictObject({}).optional(),
});
const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  envFrom: z.array(z.strictObject({ secretRef: z.strictObject({ name: z.string() }) })),
  startupProbe: httpProbe,
  livenessProbe: httpProbe,
  readinessProbe: httpProbe,
  lifecycle: z.strictObject({
    preStop: z.strictObject({ exec: z.strictObject({ command: z.tuple([z.literal('sleep'), z.string()]) }) }),
  }),
  resources: z.strictObject({ requests: labels, limits: labels }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(
    z.strictObject({ name: z.string(), mountPath: z.string().startsWith('/'), readOnly: z.boolean().optional() }),
  ),
});
const deploymentFile = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: z.strictObject({
    selector,
    strategy: z.strictObject({ type: z.literal('RollingUpdate'), rollingUpdate: z.record(z.string(), z.int()) }),
    template: z.strictObject({
      metadata: z.strictObject({ labels, annotations: labels }),
      spec: z.strictObject({
        terminationGracePeriodSeconds: z.int(),
        automountServiceAccountToken: z.literal(false),
        securityContext: z.looseObject({ runAsNonRoot: z.literal(true) }),
        topologySpreadConstraints: z.array(z.looseObject({ labelSelector: selector })),
        containers: z.tuple([container]),
        volumes: z.array(volume),
      }),
    }),
  }),
});
const serviceFile = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata,
  spec: z.strictObject({
    selector: labels,
    ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string() })),
  }),
});
const budgetFile = z.strictObject({
  apiVersion: z.literal('policy/v1'),
  kind: z.literal('PodDisruptionBudget'),
  metadata,
  spec: z.strictObject({ maxUnavailable: z.int().positive(), selector }),
});
const autoscalerFile = z.strictObject({
  apiVersion: z.literal('autoscaling/v2'),
  kind: z.literal('HorizontalPodAutoscaler'),
  metadata,
  spec: z.strictObject({
    scaleTargetRef: z.strictObject({ apiVersion: z.literal('apps/v1'), kind: z.string(), name: z.string() }),
    minReplicas: z.int().positive(),
    maxReplicas: z.int().positive(),
    metrics: z.array(
      z.strictObject({
        type: z.literal('External'),
        external: z.strictObject({
          metric: z.strictObject({ name: z.string() }),
          target: z.strictObject({ type: z.literal('AverageValue'), averageValue: z.string().regex(/^\d+$/) }),
        }),
      }),
    ),
    behavior: z.strictObject({ scaleUp: z.unknown(), scaleDown: z.unknown() }),
  }),
});
const adapterFile = z.strictObject({
  rules: z.strictObject({
    external: z.array(
      z.strictObject({
        seriesQuery: z.string(),
        name: z.strictObject({ as: z.string() }),
        resources: z.strictObject({ namespaced: z.literal(false) }),
        metricsQuery: z.string(),
      }),
    ),
  }),
});

const manifest = (name: string): unknown => parse(readExample(`kubernetes/${name}.yaml`));
const DEPLOYMENT = deploymentFile.parse(manifest('deployment'));
const SERVICE = serviceFile.parse(manifest('service'));
const BUDGET = budgetFile.parse(manifest('disruption-budget'));
const AUTOSCALER = autoscalerFile.parse(manifest('autoscaler'));
const ADAPTER = adapterFile.parse(manifest('prometheus-adapter'));
const POD = DEPLOYMENT.spec.template;
const [GATEWAY] = POD.spec.containers;

const portOf = (name: string) => GATEWAY.ports.find((port) => port.name === name)?.containerPort;

describe('docs/examples/kubernetes', () => {
  it('selects the pods of the deployment', () => {
    const selectors = [
      DEPLOYMENT.spec.selector.matchLabels,
      SERVICE.spec.selector,
      BUDGET.spec.selector.matchLabels,
      ...POD.spec.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels),
    ];
    for (const selected of selectors) assert.deepEqual(selected, POD.metadata.labels);
    assert.equal(AUTOSCALER.spec.scaleTargetRef.kind, DEPLOYMENT.kind);
    assert.equal(AUTOSCALER.spec.scaleTargetRef.name, DEPLOYMENT.metadata.name);
    assert.ok(BUDGET.spec.maxUnavailable < AUTOSCALER.spec.minReplicas);
  });

  it('sets only variables that the configuration reads, with matching ports and paths', async () => {
    const read = variablesReadBy('gateway.yaml');
    for (const { name } of GATEWAY.env) assert.ok(read.has(name), name);
    const variables = Object.fromEntries(GATEWAY.env.map(({ name, value }) => [name, value]));
    const { server, store, files } = await loadExample('gateway.yaml', variables);
    assert.deepEqual([portOf('api'), portOf('admin')], [server.port, server.admin_port]);
    assert.equal(store.url, variables.REDIS_URL);
    assert.equal(files.enabled, false);
    assert.equal(POD.metadata.annotations['prometheus.io/port'], String(server.admin_port));
    assert.deepEqual(
      SERVICE.spec.ports.map(({ targetPort }) => portOf(targetPort)),
      [server.port],
    );
    const mounted = new Map(GATEWAY.volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
    assert.deepEqual([...mounted.keys()].sort(), POD.spec.volumes.map(({ name }) => name).sort());
    assert.equal(`${mounted.get('config')}/gateway.yaml`, variables.GATEWAY_CONFIG);
  });

  it('gives a gateway time to stop', async () => {
    const { server } = await loadExample('gateway.yaml');
    const before = Number(GATEWAY.lifecycle.preStop.exec.command[1]);
    const { periodSeconds, failureThreshold } = GATEWAY.readinessProbe;
    assert.ok(before > periodSeconds * failureThreshold, 'the load balancer notices before the gateway stops');
    assert.ok(POD.spec.terminationGracePeriodSeconds > before + server.shutdownGraceMs / 1000 + 2);
  });

  it('scales by the metrics that its adapter provides', () => {
    const provided = ADAPTER.rules.external.map(({ name }) => name.as);
    const used = AUTOSCALER.spec.metrics.map(({ external }) => external.metric.name);
    assert.deepEqual(used, provided);
  });

  describe('with a gateway', function () {
    // Redis is started.
    this.timeout(patience(30));
    let redis: RedisServer;
    before(async function () {
      redis = await redisOrSkip(this);
    });
    after(() => redis?.[Symbol.asyncDispose]());

    it('probes succeed and the metrics exist', async () => {
      await using gateway = await startExample({ REDIS_URL: redis.url });
      for (const { httpGet } of [GATEWAY.startupProbe, GATEWAY.livenessProbe, GATEWAY.readinessProbe]) {
        assert.equal(httpGet.port, 'admin');
        assert.equal((await fetch(gateway.adminUrl + httpGet.path)).status, 200, httpGet.path);
        const outside = await fetch(`http://127.0.0.1:${gateway.port}${httpGet.path}`);
        assert.equal(outside.status, 404, `${httpGet.path} is not for clients`);
      }
      const page = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      for (const { seriesQuery, metricsQuery } of ADAPTER.rules.external) {
        const names = namesIn(metricsQuery).selectors.map(({ metric }) => metric);
        for (const name of [seriesQuery, ...names]) assert.match(page, new RegExp(`^${name}\\{`, 'm'));
      }
    });
  });
});

describe('docs/examples/helm', () => {
  const values: unknown = parse(readExample('helm/values.yaml'));

  it('has a valid Chart.yaml', () => {
    const chart = z.strictObject({
      apiVersion: z.literal('v2'),
      name: z.literal('research-gateway'),
      description: z.string(),
      type: z.literal('application'),
      version: z.string().regex(/^\d+\.\d+\.\d+$/),
      appVersion: z.string(),
    });
    chart.parse(parse(readExample('helm/Chart.yaml')));
  });

  it('renders to the manifests with its default values', () => {
    const templates = readdirSync(`${CHART}/templates`);
    assert.equal(templates.length, 4);
    for (const template of templates) {
      const filled = fillIn(readExample(`helm/templates/${template}`), { values, release: 'research-gateway' });
      assert.deepEqual(parse(filled), manifest(template.replace('.yaml', '')), template);
    }
  });

  it('uses all of its values, and names its resources after the release', () => {
    const text = readdirSync(`${CHART}/templates`).map((name) => readExample(`helm/templates/${name}`));
    assert.ok(isObject(values));
    for (const name of Object.keys(values)) assert.ok(text.join().includes(`{{ .Values.${name} }}`), name);
    for (const template of text) {
      const filled: unknown = parse(fillIn(template, { values, release: 'other' }));
      const other = z.object({ metadata }).loose().parse(filled);
      assert.equal(other.metadata.name, 'other');
      assert.doesNotMatch(JSON.stringify(other), /instance":"research-gateway/);
    }
  });
});

/** Renders a template as `helm template` does, if it contains only plain values. */
function fillIn(template: string, { values, release }: { values: unknown; release: string }): string {
  return template.replace(/\{\{(.*?)\}\}/g, (_, expression: string) => {
    const path = expression.trim();
    if (path === '.Release.Name') return release;
    const name = /^\.Values\.(\w+)$/.exec(path)?.[1] ?? '';
    const value = isObject(values) ? values[name] : undefined;
    assert.ok(typeof value === 'string' || typeof value === 'number', `{{${expression}}} is a plain value`);
    return String(value);
  });
}
