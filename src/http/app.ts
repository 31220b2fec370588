import express, { type Express, type RequestHandler } from 'express';
import { GatewayError } from '../base/errors.ts';
import { memoryLimits } from '../store/limits.ts';
import { type Endpoint, handlerOf, methodNotAllowed, openHandler, refuseMethods } from './endpoint.ts';
import { Heartbeats } from './heartbeat.ts';
import { Admission } from './limits/admission.ts';
import { HttpMetrics } from './metrics.ts';
import { keyrings } from './middleware/auth.ts';
import { entry } from './middleware/entry.ts';
import { failure } from './middleware/failure.ts';
import type { Floor, HttpParts } from './parts.ts';
import { Retries } from './retries.ts';
import { cancelResponse } from './routes/cancel-response.ts';
import { cancelTask } from './routes/cancel-task.ts';
import { chatCompletions } from './routes/chat-completions.ts';
import { createResponse } from './routes/create-response.ts';
import { createTask } from './routes/create-task.ts';
import { deleteResponse } from './routes/delete-response.ts';
import { deleteTask } from './routes/delete-task.ts';
import { docsPages } from './routes/docs.ts';
import { getResponse } from './routes/get-response.ts';
import { getTask } from './routes/get-task.ts';
import { healthz, readyz } from './routes/health.ts';
import { listInputItems } from './routes/list-input-items.ts';
import { getModel, listModels } from './routes/list-models.ts';
import { listResponses } from './routes/list-responses.ts';
import { listTasks } from './routes/list-tasks.ts';
import { metricsPage } from './routes/metrics.ts';
import { openapi } from './routes/openapi.ts';
import { passthrough } from './routes/passthrough.ts';
import { Visits } from './visit.ts';

/** What the apps of a gateway answer: `api` the `/v1` endpoints, `admin` health, metrics and pages. */
export interface Apps {
  /** Everything, for one port. */
  both: Express;
  /** For two ports. */
  api: Express;
  admin: Express;
}

/** The app that answers everything on one port. */
export function createApp(parts: HttpParts): Express {
  return createApps(parts).both;
}

/** The apps for one port or two; they share limits and metrics. */
export function createApps(parts: HttpParts): Apps {
  const { limits = memoryLimits(parts.clock.now), console: pages, ...rest } = parts;
  const floor: Floor = {
    ...rest,
    admission: new Admission(limits),
    heartbeats: new Heartbeats(() => parts.config().server.heartbeat_seconds),
    metrics: new HttpMetrics(parts.registry, parts.runs),
    retries: new Retries(parts.caches),
  };
  const app = (serves: { api: boolean; admin: boolean }) => {
    const visits = new Visits();
    const made = emptyApp(floor, visits);
    if (serves.api) addApi(made, floor, visits);
    if (serves.admin) addAdmin(made, floor, { visits, ...(pages && { pages }) });
    made.use(() => {
      throw new GatewayError('not_found', 'There is nothing at this address.');
    });
    made.use(failure(floor, visits));
    return made;
  };
  return {
    get both() {
      return app({ api: true, admin: true });
    },
    get api() {
      return app({ api: true, admin: false });
    },
    get admin() {
      return app({ api: false, admin: true });
    },
  };
}

function emptyApp(floor: Floor, visits: Visits): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', false);
  app.set('env', 'production');
  app.set('trust proxy', floor.config().server.trust_proxy);
  app.use(entry(floor, visits));
  return app;
}

/** The `/v1` endpoints, one layer each, the busiest first: Express goes through them in order. */
function addApi(app: Express, floor: Floor, visits: Visits): void {
  const keyring = keyrings();
  const route = (path: string, endpoints: Partial<Record<'get' | 'post' | 'delete', Endpoint>>) => {
    const options = { floor, visits, keyring: (config: Parameters<typeof keyring>[0]) => keyring(config) };
    const { get, post, delete: remove } = endpoints;
    const added = app.route(path);
    if (post) added.post(handlerOf(path, post, options));
    if (get) added.get(handlerOf(path, get, options));
    if (remove) added.delete(handlerOf(path, remove, options));
    const allowed = Object.keys(endpoints).map((method) => method.toUpperCase());
    added.all(handlerOf(path, refuseMethods(allowed), options));
  };
  route('/v1/chat/completions', { post: chatCompletions(floor) });
  route('/v1/responses', { post: createResponse(floor), get: listResponses(floor) });
  route('/v1/responses/:id', { get: getResponse(floor), delete: deleteResponse(floor) });
  route('/v1/responses/:id/cancel', { post: cancelResponse(floor) });
  route('/v1/responses/:id/input_items', { get: listInputItems(floor) });
  route('/v1/async', { post: createTask(floor), get: listTasks(floor) });
  route('/v1/async/:id', { get: getTask(floor), delete: deleteTask(floor) });
  route('/v1/async/:id/cancel', { post: cancelTask(floor) });
  route('/v1/models', { get: listModels() });
  route('/v1/models/*id', { get: getModel() });
  const rest = '/v1/*rest';
  const options = { floor, visits, keyring: keyring };
  app.all(rest, handlerOf(rest, passthrough(floor), options));
}

/** Health, metrics and pages, without a key (contract section 8). */
function addAdmin(app: Express, floor: Floor, { visits, pages }: { visits: Visits; pages?: RequestHandler }): void {
  const route = (path: string, handler: RequestHandler) => {
    app
      .route(path)
      .get(openHandler(path, visits, handler))
      .all(openHandler(path, visits, onlyGet));
  };
  route('/healthz', healthz());
  route('/readyz', readyz(floor));
  route('/metrics', metricsPage(floor));
  route('/openapi.json', openapi());
  app.use('/docs', openHandler('/docs', visits, docsPages()));
  if (pages) app.use('/console', openHandler('/console', visits, pages));
}

const onlyGet: RequestHandler = ({ method }, res) => {
  throw methodNotAllowed(method, ['GET'], res);
};
