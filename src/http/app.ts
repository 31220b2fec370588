import express, { type Express, type RequestHandler } from 'express';
import { OpenAnswers } from './answers/open-answers.ts';
import type { AppDeps, HttpParts } from './app-deps.ts';
import { type Call, type Endpoint, handlerOf, methodNotAllowed, openHandler, refuseMethodsOf } from './endpoint.ts';
import { bodyMemory, submissionTurns } from './limits/bounds.ts';
import { HeldTexts } from './limits/held-texts.ts';
import { mcp } from './mcp/mcp.ts';
import { HttpMetrics } from './metrics.ts';
import { entry } from './middleware/entry.ts';
import { failure } from './middleware/failure.ts';
import { docsPages } from './operator/docs.ts';
import { getOverview, OVERVIEW } from './operator/get-overview.ts';
import { healthz, readyz } from './operator/health.ts';
import { metricsPage } from './operator/metrics.ts';
import { openapi } from './operator/openapi.ts';
import { listAudit } from './routes/admin/audit.ts';
import { getConfig } from './routes/admin/config.ts';
import { forAdmins } from './routes/admin/for-admins.ts';
import { createKey, deleteKey, explainKey, getKey, listKeys, rotateKey, updateKey } from './routes/admin/keys.ts';
import { getTurnPrompt } from './routes/admin/turn-prompt.ts';
import { getUsage } from './routes/admin/usage.ts';
import { cancelResponse } from './routes/cancel-response.ts';
import { cancelTask } from './routes/cancel-task.ts';
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
import { deleteResponse } from './routes/delete-response.ts';
import { deleteTask } from './routes/delete-task.ts';
import { deleteFile, getFile, getFileContent, listFiles, postFile } from './routes/files/files.ts';
import { getReport } from './routes/get-report.ts';
import { getResponse } from './routes/get-response.ts';
import { getTask } from './routes/get-task.ts';
import { getTimeline } from './routes/get-timeline.ts';
import { listInputItems } from './routes/list-input-items.ts';
import { getModel, listModels, namedModel } from './routes/list-models.ts';
import { listResponses } from './routes/list-responses.ts';
import { listTasks } from './routes/list-tasks.ts';
import { passthrough } from './routes/passthrough.ts';
import { entryFor, mayUsePath } from './routes/streamed.ts';
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
import { nothingAt } from './unknown-path.ts';
import { type UpgradeHandler, webSockets } from './web-sockets.ts';

/** Memory of long answers that are being read, in bytes. */
const MAX_HELD = 128 * 1024 * 1024;

/** The apps of a gateway. Each is made when it is asked for. */
export interface Apps {
  /**
   * The `/v1` endpoints, health, metrics and pages. Where there are two ports, the operator's has all of it too: the
   * console is a client of the API, and a page reaches no other port than its own.
   */
  all: Express;
  /** The `/v1` endpoints. */
  api: Express;
  /** How many answers of each route are being written now. */
  openRoutes(): Record<string, number>;
  /** WebSockets, for every port that has the API. */
  upgrade: UpgradeHandler;
}

/** The apps for one port or two; they share limits and metrics. */
export function createApps(parts: HttpParts): Apps {
  const { console: pages, ...rest } = parts;
  const bodies = bodyMemory(() => parts.config.current().server.bodyMemoryBytes);
  const heldTexts = new HeldTexts({ limit: MAX_HELD });
  const deps: AppDeps = {
    ...rest,
    bodies,
    openAnswers: new OpenAnswers(parts.config),
    heldTexts,
    submissions: submissionTurns(),
    attachments: new Attachments(parts),
    metrics: new HttpMetrics(parts.registry, { runs: parts.runs, bodies, heldTexts }),
  };
  const app = ({ operator }: { operator: boolean }) => {
    const made = emptyApp(deps);
    addApi(made, deps);
    if (operator) addAdmin(made, deps, pages);
    made.use(({ path }) => {
      throw nothingAt(path);
    });
    made.use(failure(deps));
    return made;
  };
  return {
    openRoutes: () => deps.openAnswers.routes(),
    upgrade: webSockets(deps),
    get all() {
      return app({ operator: true });
    },
    get api() {
      return app({ operator: false });
    },
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

/** The `/v1` endpoints, one layer each, the busiest first: Express goes through them in order. */
function addApi(app: Express, deps: AppDeps): void {
  const elsewhere = passthrough(deps);
  const always = () => true;
  const route = (
    path: string,
    endpoints: Partial<Record<'get' | 'post' | 'delete', Endpoint>>,
    isThere: (call: Call) => boolean = always,
  ) => {
    const { get, post, delete: remove } = endpoints;
    const added = app.route(path);
    if (post) added.post(handlerOf(path, post, deps));
    if (get) added.get(handlerOf(path, get, deps));
    if (remove) added.delete(handlerOf(path, remove, deps));
    const allowed = Object.keys(endpoints).map((method) => method.toUpperCase());
    added.all(handlerOf(path, refuseMethodsOf(isThere, allowed, elsewhere), deps));
  };
  route('/v1/chat/completions', { post: chatCompletions(deps) });
  route('/v1/responses', { post: createResponse(deps), get: listResponses(deps) });
  route('/v1/responses/compact', { post: compactResponse(deps) });
  route('/v1/responses/input_tokens', { post: countInputTokens(deps) });
  route('/v1/responses/:id', { get: getResponse(deps), delete: deleteResponse(deps) }, hasPrefix('resp_'));
  route('/v1/responses/:id/cancel', { post: cancelResponse(deps) });
  route('/v1/responses/:id/input_items', { get: listInputItems(deps) });
  route('/v1/responses/:id/report', { get: getReport(deps) });
  route('/v1/responses/:id/timeline', { get: getTimeline(deps) });
  route('/v1/async', { post: createTask(deps), get: listTasks(deps) });
  route('/v1/async/:id', { get: getTask(deps), delete: deleteTask(deps) }, hasPrefix('task_'));
  route('/v1/async/:id/cancel', { post: cancelTask(deps) });
  const conversation = '/v1/conversations';
  route(conversation, { post: postConversation(deps) });
  route(
    `${conversation}/:id`,
    { get: getConversation(deps), post: updateMetadata(deps), delete: deleteConversation(deps) },
    hasPrefix('conv_'),
  );
  route(`${conversation}/:id/items`, { get: listItems(deps), post: postItems(deps) });
  route(`${conversation}/:id/items/:item`, { get: getItem(deps), delete: deleteItem(deps) });
  const files = (endpoint: Endpoint): Endpoint => ourFiles(endpoint, elsewhere);
  route('/v1/files', { post: files(postFile(deps)), get: files(listFiles(deps)) }, hasFiles);
  route('/v1/files/:id', { get: files(getFile(deps)), delete: files(deleteFile(deps)) }, isFile);
  route('/v1/files/:id/content', { get: files(getFileContent(deps)) }, isFile);
  const stores = '/v1/vector_stores';
  route(stores, { post: files(postVectorStore(deps)), get: files(listVectorStores(deps)) }, hasFiles);
  const one = `${stores}/:id`;
  route(
    one,
    { get: files(getVectorStore(deps)), post: files(updateVectorStore(deps)), delete: files(deleteVectorStore(deps)) },
    (call) => hasFiles(call) && hasPrefix('vs_')(call),
  );
  route(`${one}/search`, { post: files(searchVectorStore(deps)) }, hasFiles);
  route(`${one}/files`, { post: files(attachFile(deps)), get: files(listStoreFiles(deps)) }, hasFiles);
  route(
    `${one}/files/:file`,
    { get: files(getStoreFile(deps)), post: files(updateStoreFile(deps)), delete: files(detachFile(deps)) },
    hasFiles,
  );
  route(`${one}/files/:file/content`, { get: files(getStoreFileContent(deps)) }, hasFiles);
  route(`${one}/file_batches`, { post: files(createFileBatch(deps)) }, hasFiles);
  route(`${one}/file_batches/:batch`, { get: files(getFileBatch(deps)) }, hasFiles);
  route(`${one}/file_batches/:batch/cancel`, { post: files(cancelFileBatch(deps)) }, hasFiles);
  route(`${one}/file_batches/:batch/files`, { get: files(listBatchFiles(deps)) }, hasFiles);
  route('/v1/webhook_deliveries', { get: listDeliveries(deps) });
  route('/v1/webhook_deliveries/:id/redeliver', { post: redeliver(deps) });
  route('/v1/models', { get: listModels() });
  route('/v1/models/*id', { get: getModel() }, (call) => namedModel(call) !== undefined);
  app
    .route('/mcp')
    .post(handlerOf('/mcp', mcp(deps), deps))
    .all(handlerOf('/mcp', refuseMethodsOf(hasMcp, ['POST'], nowhere), deps));
  const rest = '/v1/*rest';
  app.all(rest, handlerOf(rest, elsewhere, deps));
}

const hasMcp = ({ identity }: Call) => identity.config.mcp.enabled;

const nowhere: Endpoint = async ({ req }) => {
  throw nothingAt(req.path);
};

/** Whether files are the gateway's own for this call, and no provider's (docs/files.md). */
function hasFiles({ req, identity: { config, key } }: Call): boolean {
  const entry = entryFor(req.path, config);
  return config.files.enabled && !(entry && mayUsePath(key, entry));
}

const isFile = (call: Call) => hasFiles(call) && hasPrefix('file-')(call);

function ourFiles(endpoint: Endpoint, elsewhere: Endpoint): Endpoint {
  return (call) => (hasFiles(call) ? endpoint(call) : elsewhere(call));
}

/** Whether the id in a path is one of this kind: `/v1/responses/compact` is no response. */
function hasPrefix(prefix: string): (call: Call) => boolean {
  return ({ req }) => String(req.params.id).startsWith(prefix);
}

/** Health, metrics and pages, without a key (docs/api.md, "Models and the rest"). */
function addAdmin(app: Express, deps: AppDeps, pages: RequestHandler | undefined): void {
  const route = (path: string, handler: RequestHandler) => {
    app.route(path).get(openHandler(path, handler)).all(openHandler(path, onlyGet));
  };
  route('/healthz', healthz());
  route('/readyz', readyz(deps));
  route('/metrics', metricsPage(deps));
  route('/openapi.json', openapi());
  app.use('/docs', openHandler('/docs', docsPages()));
  addOperator(app, deps);
  if (!pages) return;
  app.get('/', openHandler('/', toConsole));
  app.use('/console', openHandler('/console', pages));
}

/** What keys with `admin: true` may ask. To others there is nothing at these addresses. */
function addOperator(app: Express, deps: AppDeps): void {
  const route = (path: string, endpoints: Partial<Record<'get' | 'post' | 'patch' | 'delete', Endpoint>>) => {
    const added = app.route(path);
    for (const [method, endpoint] of Object.entries(endpoints)) {
      added[method as keyof typeof endpoints](handlerOf(path, forAdmins(endpoint), deps));
    }
    const allowed = Object.keys(endpoints).map((method) => method.toUpperCase());
    added.all(
      openHandler(path, ({ method }, res) => {
        throw methodNotAllowed(method, allowed, res);
      }),
    );
  };
  route(OVERVIEW, { get: getOverview(deps) });
  route('/admin/usage', { get: getUsage(deps) });
  route('/admin/audit', { get: listAudit(deps) });
  route('/admin/keys', { get: listKeys(deps), post: createKey(deps) });
  route('/admin/keys/:id', { get: getKey(deps), patch: updateKey(deps), delete: deleteKey(deps) });
  route('/admin/keys/:id/rotate', { post: rotateKey(deps) });
  route('/admin/keys/:id/explain', { get: explainKey(deps) });
  route('/admin/config', { get: getConfig(deps) });
  route('/admin/responses/:id/turns/:turn', { get: getTurnPrompt(deps) });
}

/** `GET /` in a browser leads to the console; programs get the answer of an address where nothing is. */
const toConsole: RequestHandler = ({ headers }, res, next) => {
  if (!/\btext\/html\b/.test(headers.accept ?? '')) return next();
  return res.redirect(302, 'console');
};

const onlyGet: RequestHandler = ({ method }, res) => {
  throw methodNotAllowed(method, ['GET'], res);
};
