import express, { type Express, type RequestHandler } from 'express';
import { GatewayError } from '../base/errors.ts';
import { OpenAnswers } from './answers/open-answers.ts';
import type { AppDeps, HttpParts } from './app-deps.ts';
import { type Call, type Endpoint, handlerOf, methodNotAllowed, publicHandler, refuseMethodsOf } from './endpoint.ts';
import { bodyMemory, submissionTurns } from './limits/bounds.ts';
import { LongAnswers } from './limits/long-answers.ts';
import { mcp } from './mcp/mcp.ts';
import { HttpMetrics } from './metrics.ts';
import { entry } from './middleware/entry.ts';
import { failure } from './middleware/failure.ts';
import { docsPages, openapi } from './operator/docs.ts';
import { addOperatorGauges } from './operator/gauges.ts';
import { getOverview, OVERVIEW } from './operator/get-overview.ts';
import { healthz, metricsPage, readyz } from './operator/health.ts';
import { ReportDocuments } from './report/documents.ts';
import { getConfig, getTurnPrompt, listAudit } from './routes/admin/inspect.ts';
import { createKey, deleteKey, explainKey, getKey, listKeys, rotateKey, updateKey } from './routes/admin/keys.ts';
import { getUsage } from './routes/admin/usage.ts';
import { chatCompletions } from './routes/chat-completions.ts';
import { compactResponse } from './routes/compact-response.ts';
import {
  deleteConversation,
  getConversation,
  postConversation,
  updateMetadata,
} from './routes/conversations/conversations.ts';
import { deleteItem, getItem, listItems, postItems } from './routes/conversations/items.ts';
import { countInputTokens } from './routes/count-input-tokens.ts';
import { createResponse } from './routes/create-response.ts';
import { createTask } from './routes/create-task.ts';
import { deleteFile, getFile, getFileContent, listFiles, postFile } from './routes/files/files.ts';
import { getReport } from './routes/get-report.ts';
import { getModel, listModels, namedModel } from './routes/list-models.ts';
import { passthrough } from './routes/passthrough.ts';
import { entryFor, mayUsePath } from './routes/passthrough-entries.ts';
import {
  cancelResponse,
  deleteResponse,
  getResponse,
  getTimeline,
  listInputItems,
  listResponses,
} from './routes/responses.ts';
import { cancelTask, deleteTask, getTask, listTasks } from './routes/tasks.ts';
import {
  attachFile,
  cancelFileBatch,
  createFileBatch,
  detachFile,
  getFileBatch,
  getStoreFile,
  getStoreFileContent,
  listBatchFiles,
  listStoreFiles,
  updateStoreFile,
} from './routes/vector-stores/files.ts';
import {
  deleteVectorStore,
  getVectorStore,
  listVectorStores,
  postVectorStore,
  searchVectorStore,
  updateVectorStore,
} from './routes/vector-stores/vector-stores.ts';
import { listDeliveries, redeliver } from './routes/webhook-deliveries.ts';
import { Attachments } from './submission/attachments.ts';
import { notFoundAt } from './unknown-path.ts';
import { type UpgradeHandler, webSockets } from './web-sockets.ts';

/** Memory for long answers that clients are still reading, in bytes. */
const LONG_ANSWER_BYTES = 128 * 1024 * 1024;

/** What the apps of a gateway share, and how to create one. */
export interface Apps {
  /**
   * Creates an app with the `/v1` endpoints and, for `operator`, health, metrics and pages as well: the console uses the API,
   * and a page can only reach its own port.
   */
  create(options: { operator: boolean }): Express;
  /** How many answers each route is writing now. */
  openAnswersByRoute(): Record<string, number>;
  /** Ends all answers with an error: with its status, or in the words of a stream that has begun. */
  endAnswers(reason: GatewayError): void;
  /** Handles WebSockets, on every port with the API. */
  upgrade: UpgradeHandler;
}

/** Creates the apps for one port or two. They share limits and metrics. */
export function createApps(parts: HttpParts): Apps {
  const { console: pages, ...rest } = parts;
  const bodies = bodyMemory(() => parts.config.current().server.bodyMemoryBytes);
  const longAnswers = new LongAnswers({ limit: LONG_ANSWER_BYTES });
  const deps: AppDeps = {
    ...rest,
    bodies,
    openAnswers: new OpenAnswers(parts.config),
    longAnswers,
    submissions: submissionTurns(),
    attachments: new Attachments(parts),
    reports: new ReportDocuments(),
    metrics: new HttpMetrics(parts.registry, { runs: parts.runs, bodies, longAnswers }),
  };
  if (parts.operator) addOperatorGauges(parts.registry, { ...parts, operator: parts.operator });
  return {
    create({ operator }) {
      const app = emptyApp(deps);
      addApi(app, deps);
      if (operator) addAdmin(app, deps, pages);
      app.use(({ path }) => {
        throw notFoundAt(path);
      });
      app.use(failure(deps));
      return app;
    },
    openAnswersByRoute: () => deps.openAnswers.routes(),
    endAnswers: (reason) => deps.openAnswers.endAll(reason, ({ idle }) => !idle),
    upgrade: webSockets(deps),
  };
}

function emptyApp(deps: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', false);
  app.set('env', 'production');
  app.set('trust proxy', deps.config.current().server.trust_proxy);
  app.use(entry(deps));
  return app;
}

/** The endpoints of a path, by method. */
type Endpoints = Partial<Record<'get' | 'post' | 'patch' | 'delete', Endpoint>>;

function wrapEach(endpoints: Endpoints, wrap: (endpoint: Endpoint) => Endpoint): Endpoints {
  return Object.fromEntries(Object.entries(endpoints).map(([method, endpoint]) => [method, wrap(endpoint)]));
}

/** Adds a route. `fallback` creates the handler of every method that has no endpoint. */
function addRoute(
  app: Express,
  path: string,
  { endpoints, deps, fallback }: { endpoints: Endpoints; deps: AppDeps; fallback(allowed: string[]): RequestHandler },
): void {
  const route = app.route(path);
  for (const [method, endpoint] of Object.entries(endpoints)) {
    route[method as keyof Endpoints](handlerOf(path, endpoint, deps));
  }
  route.all(fallback(Object.keys(endpoints).map((method) => method.toUpperCase())));
}

/** Adds the `/v1` endpoints, one layer each and the busiest first, because Express tries them in order. */
function addApi(app: Express, deps: AppDeps): void {
  const route = (path: string, endpoints: Endpoints, exists: (call: Call) => boolean = () => true) => {
    const fallback = (allowed: string[]) => handlerOf(path, refuseMethodsOf(exists, allowed, passthrough), deps);
    addRoute(app, path, { endpoints, deps, fallback });
  };
  route('/v1/chat/completions', { post: chatCompletions });
  route('/v1/responses', { post: createResponse, get: listResponses });
  route('/v1/responses/compact', { post: compactResponse });
  route('/v1/responses/input_tokens', { post: countInputTokens });
  route('/v1/responses/:id', { get: getResponse, delete: deleteResponse }, hasPrefix('resp_'));
  route('/v1/responses/:id/cancel', { post: cancelResponse });
  route('/v1/responses/:id/input_items', { get: listInputItems });
  route('/v1/responses/:id/report', { get: getReport });
  route('/v1/responses/:id/timeline', { get: getTimeline });
  route('/v1/async', { post: createTask, get: listTasks });
  route('/v1/async/:id', { get: getTask, delete: deleteTask }, hasPrefix('task_'));
  route('/v1/async/:id/cancel', { post: cancelTask });
  const conversation = '/v1/conversations';
  route(conversation, { post: postConversation });
  const oneConversation = { get: getConversation, post: updateMetadata, delete: deleteConversation };
  route(`${conversation}/:id`, oneConversation, hasPrefix('conv_'));
  route(`${conversation}/:id/items`, { get: listItems, post: postItems });
  route(`${conversation}/:id/items/:item`, { get: getItem, delete: deleteItem });
  // Files and vector stores are served by the gateway or passed through to a provider.
  const fileRoute = (path: string, endpoints: Endpoints, exists = servesFiles) => {
    route(path, wrapEach(endpoints, orPassthrough), exists);
  };
  fileRoute('/v1/files', { post: postFile, get: listFiles });
  fileRoute('/v1/files/:id', { get: getFile, delete: deleteFile }, isFile);
  fileRoute('/v1/files/:id/content', { get: getFileContent }, isFile);
  const stores = '/v1/vector_stores';
  fileRoute(stores, { post: postVectorStore, get: listVectorStores });
  const oneStore = `${stores}/:id`;
  fileRoute(oneStore, { get: getVectorStore, post: updateVectorStore, delete: deleteVectorStore }, isVectorStore);
  fileRoute(`${oneStore}/search`, { post: searchVectorStore });
  fileRoute(`${oneStore}/files`, { post: attachFile, get: listStoreFiles });
  fileRoute(`${oneStore}/files/:file`, { get: getStoreFile, post: updateStoreFile, delete: detachFile });
  fileRoute(`${oneStore}/files/:file/content`, { get: getStoreFileContent });
  fileRoute(`${oneStore}/file_batches`, { post: createFileBatch });
  fileRoute(`${oneStore}/file_batches/:batch`, { get: getFileBatch });
  fileRoute(`${oneStore}/file_batches/:batch/cancel`, { post: cancelFileBatch });
  fileRoute(`${oneStore}/file_batches/:batch/files`, { get: listBatchFiles });
  route('/v1/webhook_deliveries', { get: listDeliveries });
  route('/v1/webhook_deliveries/:id/redeliver', { post: redeliver });
  route('/v1/models', { get: listModels });
  route('/v1/models/*id', { get: getModel }, (call) => namedModel(call) !== undefined);
  app
    .route('/mcp')
    .post(handlerOf('/mcp', mcp, deps))
    .all(handlerOf('/mcp', refuseMethodsOf(isMcpEnabled, ['POST'], notFound), deps));
  const rest = '/v1/*rest';
  app.all(rest, handlerOf(rest, passthrough, deps));
}

const isMcpEnabled = ({ identity }: Call) => identity.config.mcp.enabled;

const notFound: Endpoint = async (_deps, { req }) => {
  throw notFoundAt(req.path);
};

/** Whether the gateway serves files itself for this call, rather than a provider (docs/files.md). */
function servesFiles({ req, identity: { config, key } }: Call): boolean {
  const entry = entryFor(req.path, config);
  return config.files.enabled && !(entry && mayUsePath(key, entry));
}

const isFile = (call: Call) => servesFiles(call) && hasPrefix('file-')(call);
const isVectorStore = (call: Call) => servesFiles(call) && hasPrefix('vs_')(call);

function orPassthrough(endpoint: Endpoint): Endpoint {
  return (deps, call) => (servesFiles(call) ? endpoint : passthrough)(deps, call);
}

/** Whether the `:id` of a path has this prefix: `/v1/responses/compact` is no response. */
function hasPrefix(prefix: string): (call: Call) => boolean {
  return ({ req }) => String(req.params.id).startsWith(prefix);
}

/** Adds health, metrics and pages, which need no key (docs/api.md, "Models and the rest"). */
function addAdmin(app: Express, deps: AppDeps, pages: RequestHandler | undefined): void {
  const route = (path: string, handler: RequestHandler) => {
    app.route(path).get(publicHandler(path, handler)).all(publicHandler(path, refuseAllButGet));
  };
  route('/healthz', healthz());
  route('/readyz', readyz(deps));
  route('/metrics', metricsPage(deps));
  route('/openapi.json', openapi());
  app.use('/docs', publicHandler('/docs', docsPages()));
  addOperator(app, deps);
  if (!pages) return;
  app.get('/', publicHandler('/', redirectToConsole));
  app.use('/console', publicHandler('/console', pages));
}

/** Adds the endpoints for keys with `admin: true`. Other keys get a 404. */
function addOperator(app: Express, deps: AppDeps): void {
  const route = (path: string, endpoints: Endpoints) => {
    const fallback = (allowed: string[]) =>
      publicHandler(path, ({ method }, res) => {
        throw methodNotAllowed(method, allowed, res);
      });
    addRoute(app, path, { endpoints: wrapEach(endpoints, adminsOnly), deps, fallback });
  };
  route(OVERVIEW, { get: getOverview });
  route('/admin/usage', { get: getUsage });
  route('/admin/audit', { get: listAudit });
  route('/admin/keys', { get: listKeys, post: createKey });
  route('/admin/keys/:id', { get: getKey, patch: updateKey, delete: deleteKey });
  route('/admin/keys/:id/rotate', { post: rotateKey });
  route('/admin/keys/:id/explain', { get: explainKey });
  route('/admin/config', { get: getConfig });
  route('/admin/responses/:id/turns/:turn', { get: getTurnPrompt });
}

function adminsOnly(endpoint: Endpoint): Endpoint {
  return async (deps, call) => {
    if (!call.identity.key.admin) throw new GatewayError('not_found', 'There is nothing at this address.');
    return await endpoint(deps, call);
  };
}

/** `GET /` redirects a browser to the console. Programs get a 404. */
const redirectToConsole: RequestHandler = ({ headers }, res, next) => {
  if (!/\btext\/html\b/.test(headers.accept ?? '')) return next();
  return res.redirect(302, 'console');
};

const refuseAllButGet: RequestHandler = ({ method }, res) => {
  throw methodNotAllowed(method, ['GET'], res);
};
