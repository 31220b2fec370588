import { randomUUID } from 'node:crypto';
import { toSeconds } from '../../../base/clock.ts';
import { fieldError, GatewayError } from '../../../base/errors.ts';
import { isObject } from '../../../base/json.ts';
import { clientAddress } from '../../../base/networks.ts';
import { formatPath, withoutQuery } from '../../../base/text.ts';
import { crossCheck } from '../../../config/cross-checks.ts';
import { keyringOf } from '../../../config/keyring.ts';
import { name } from '../../../config/schema/values.ts';
import type { GatewayConfig, KeyConfig } from '../../../config/schema.ts';
import { explainKeyModel } from '../../../keys/explain.ts';
import { type KeySettings, keySettings, LOCKED, type StoredKey } from '../../../keys/stored-key.ts';
import { type AdminKey, auditQuery, rotateKeyBody } from '../../../protocol/operating/admin.ts';
import { explainQuery } from '../../../protocol/operating/explanation.ts';
import { parseValue } from '../../../protocol/requests/parse.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Call } from '../../endpoint.ts';
import { hasBody, readJson, skipBody } from '../../middleware/body.ts';
import { readQuery } from '../../query.ts';

/** `/admin/keys` (docs/keys.md). */

/** Clients resolve `.` and `..` in paths, even when escaped, so nobody could revoke such a key. */
const id = name.refine((text) => text !== '.' && text !== '..', 'must be more than dots');
const newKey = keySettings.extend({ id: id.optional() });

/** The parameter is optional here so that the endpoint can report its absence itself. */
const modelQuery = explainQuery.partial();

/** `GET /admin/keys`: the keys of the configuration file, then page by page those of the store. */
export async function listKeys({ keys, config }: AppDeps, { req }: Call): Promise<Answer> {
  const query = readQuery(req, auditQuery);
  const page = await keys.list(query);
  const ofFile = query.after === undefined ? config.current().keys.filter(({ id }) => keys.isInFile(id)) : [];
  return json({
    object: 'list',
    data: [...ofFile.map(adminKeyOfFile), ...page.keys.map(adminKeyOf)],
    has_more: page.hasMore,
  });
}

/** `POST /admin/keys`. */
export async function createKey(deps: AppDeps, call: Call): Promise<Answer> {
  const { id = `key_${randomUUID()}`, ...settings } = requireKnownFields(newKey, (await readJson(call)).json);
  checkWithConfig(id, settings, call.identity.config);
  const { key, secret } = await deps.keys.create(id, settings);
  await audit(deps, call, { action: 'key.created', target: id });
  return json({ ...adminKeyOf(key), secret });
}

/** `GET /admin/keys/:id`: a key of the store or of the configuration file. */
export async function getKey({ keys, admission, config }: AppDeps, { req }: Call): Promise<Answer> {
  const id = idIn(req);
  const known = keyringOf(config.current()).byId.get(id);
  const shown = known && keys.isInFile(id) ? adminKeyOfFile(known) : adminKeyOf(await keys.get(id));
  return json({ ...shown, used: known ? await admission.usage(known) : [] });
}

/** `GET /admin/keys/:id/explain`: what the key gets when it requests `model`. */
export async function explainKey({ keys, config }: AppDeps, { req }: Call): Promise<Answer> {
  const id = idIn(req);
  const { model: name } = readQuery(req, modelQuery);
  if (name === undefined) throw fieldError('missing_parameter', 'model', 'name a model.');
  const current = config.current();
  const model = Object.hasOwn(current.models, name) ? current.models[name] : undefined;
  if (!model) throw fieldError('invalid_parameter', 'model', `there is no model ${name}.`);
  const key = keyringOf(current).byId.get(id);
  if (key) return json(explainKeyModel(current, { key, name, model }));
  await keys.get(id);
  throw new GatewayError('not_found', `The key ${id} is not in use at this moment.`);
}

/** `PATCH /admin/keys/:id`: null resets a setting to its default. */
export async function updateKey(deps: AppDeps, call: Call): Promise<Answer> {
  const { json: changes } = await readJson(call);
  const id = idIn(call.req);
  refuseFileKey(deps, id);
  const key = await deps.keys.update(id, (settings) => {
    const changed = requireKnownFields(keySettings, { ...settings, ...changes });
    checkWithConfig(id, changed, call.identity.config);
    return changed;
  });
  await audit(deps, call, { action: 'key.updated', target: id, detail: Object.keys(changes).join(', ') });
  return json(adminKeyOf(key));
}

/** `POST /admin/keys/:id/rotate`. */
export async function rotateKey(deps: AppDeps, call: Call): Promise<Answer> {
  const body = hasBody(call.req) ? (await readJson(call)).json : {};
  const { overlap_seconds: overlap } = parseValue(rotateKeyBody, body);
  const id = idIn(call.req);
  refuseFileKey(deps, id);
  const { key, secret } = await deps.keys.rotate(id, { overlapMs: overlap * 1000 });
  await audit(deps, call, { action: 'key.rotated', target: id, detail: `overlap ${overlap} s` });
  return json({ ...adminKeyOf(key), secret });
}

/** `DELETE /admin/keys/:id`. */
export async function deleteKey(deps: AppDeps, call: Call): Promise<Answer> {
  await skipBody(call);
  const id = idIn(call.req);
  refuseFileKey(deps, id);
  await deps.keys.remove(id);
  await audit(deps, call, { action: 'key.deleted', target: id });
  return json({ object: 'key', id, deleted: true });
}

function idIn(req: Call['req']): string {
  return String(req.params.id);
}

/** Refuses unknown fields, because a misspelt limit would be no limit. A field that is null is absent. */
function requireKnownFields<T extends typeof newKey | typeof keySettings>(schema: T, body: Record<string, unknown>) {
  const present = withoutNulls(body);
  parseValue(schema, present);
  // Not the parsed value: defaults of today must not be stored as if they had been chosen.
  return present as KeySettings & { id?: string };
}

function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  const present = Object.entries(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(present.map(([name, value]) => [name, isObject(value) ? withoutNulls(value) : value]));
}

function refuseFileKey({ keys }: AppDeps, id: string): void {
  if (!keys.isInFile(id)) return;
  throw new GatewayError('invalid_parameter', `The key ${id} stands in the configuration file: change it there.`);
}

/** Refuses settings that name models, providers or teams that are not configured, or `${...}` references. */
function checkWithConfig(id: string, settings: KeySettings, config: GatewayConfig): void {
  const refuse = (param: string, message: string) => {
    throw fieldError('invalid_parameter', param, `${message}.`);
  };
  const key = { ...keySettings.parse(settings), id, secret_sha256: '0'.repeat(64) };
  const credentials = Object.entries(key.provider_keys).map(([name, text]) => [`provider_keys.${name}`, text] as const);
  const secrets = (key.webhook?.secret ?? []).map((text) => ['webhook.secret', text] as const);
  for (const [param, text] of [...credentials, ...secrets]) {
    if (text.includes('${')) refuse(param, 'references are read in the configuration file only: give the text itself');
  }
  const { models, providers, teams, passthrough } = config;
  // Parsing drops names such as `__proto__`, which no provider has.
  if (credentials.length < Object.keys(settings.provider_keys ?? {}).length)
    refuse('provider_keys', 'names no provider');
  const [problem] = crossCheck({ keys: [key], models, providers, teams, passthrough });
  if (problem?.path[0] === 'keys') refuse(formatPath(problem.path.slice(2)), problem.message);
  if (problem) refuse('provider_keys', `${formatPath(problem.path)} ${problem.message}`);
}

function adminKeyOf({ id, settings, hashes, createdAt, locked }: StoredKey): AdminKey {
  const until = hashes[1]?.until;
  return {
    ...withoutSecrets(settings),
    object: 'key',
    id,
    source: 'store',
    created_at: toSeconds(createdAt),
    rotated_until: until === undefined ? null : toSeconds(until),
    ...(locked !== undefined && { problem: LOCKED }),
  };
}

function adminKeyOfFile({ id, secret, secret_sha256, ...settings }: KeyConfig): AdminKey {
  return {
    ...withoutSecrets(settings),
    object: 'key',
    id,
    source: 'file',
    created_at: null,
    rotated_until: null,
  };
}

/** Settings without secrets: credentials are shown as the names of their providers, webhooks without their query. */
function withoutSecrets({ provider_keys: own = {}, webhook, ...settings }: KeySettings) {
  const providers = Object.keys(own);
  return {
    ...settings,
    ...(providers.length > 0 && { provider_keys: providers }),
    ...(webhook && {
      webhook: { url: withoutQuery(webhook.url), ...(webhook.events && { events: webhook.events }) },
    }),
  };
}

function audit(
  deps: AppDeps,
  { req, identity }: Call,
  event: { action: 'key.created' | 'key.updated' | 'key.rotated' | 'key.deleted'; target: string; detail?: string },
): Promise<void> {
  const address = clientAddress(req, identity.config.server.trust_proxy)?.toString();
  return deps.audit.record({ ...event, by: identity.key.id, address });
}
