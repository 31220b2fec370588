import assert from 'node:assert/strict';
import { newRunId } from '../../../src/base/ids.ts';
import { CredentialCipher } from '../../../src/base/secrets/encrypt.ts';
import { notifiesWebhooks, readWebhook } from '../../../src/runs/stored/stored-request.ts';
import type { RunRecord } from '../../../src/store/run-store.ts';
import {
  afterAttempt,
  type Delivery,
  isDue,
  newDelivery,
  nextAttemptAt,
  readDeliveries,
  restartDelivery,
} from '../../../src/webhooks/delivery.ts';
import { newRun } from '../../contract/run-store-fixture.ts';

const newRecord = (changes: Partial<RunRecord>): RunRecord => ({
  ...newRun(),
  status: 'completed',
  startedAt: 1,
  endedAt: 2,
  cancelRequested: false,
  last: 3,
  ...changes,
});

const at = (at: number, status: number | null) => ({ at, status, error: status === null ? 'timeout' : null });

/** A request that names a receiver, as the first version stored it under the key of `ab` bytes. */
const REQUEST =
  '{"v":1,"input":[],"request":{"kind":"proxy","body":"{}"},"webhook":"' +
  'PEhxB53eRGUK5/tD5k/6N7oAnh8a5POt2dXocIcwsegGuCLctqKsLcYA1eOkQMvE+YBJKUOx4jgDtoiYn5+FZBEXHKQILsqf2OGvSkPOIJo9s1IAgti+WcFrb+Jr8RVL7l0="}';

describe('the webhook of a stored run', () => {
  const record = { id: newRunId(), keyId: 'ann', request: REQUEST };
  const cipher = new CredentialCipher('ab'.repeat(32), []);

  it('is decrypted as the first version stored it', () => {
    const run = newRecord(record);
    assert.equal(notifiesWebhooks(run), true);
    assert.deepEqual(readWebhook(run, cipher), { url: 'https://example.com/hook?a=b', secret: 'a secret of a client' });
    assert.throws(() => readWebhook(run, undefined), /key ann/);
  });

  it('is only the receiver of the key if the field is empty, and none if it is absent', () => {
    const ofKey = newRecord({ ...record, request: REQUEST.replace(/"webhook":".*"/, '"webhook":""') });
    assert.deepEqual([notifiesWebhooks(ofKey), readWebhook(ofKey, cipher)], [true, undefined]);
    assert.equal(notifiesWebhooks(newRecord({ ...record, request: REQUEST.replace(/,"webhook":".*"/, '') })), false);
  });
});

describe('a webhook delivery', () => {
  it('succeeds on any 2xx', () => {
    for (const status of [200, 202, 204, 299]) {
      const { attempts, ...rest } = afterAttempt(newDelivery(5), at(7, status));
      assert.deepEqual(rest, { status: 'delivered', failures: 0, nextAt: null });
      assert.deepEqual(attempts, [at(7, status)]);
    }
  });

  it('is due if its time came, or lies further off than its delay: the clock ran ahead and came back', () => {
    const now = 1_000_000_000;
    const failed = (sentAt: number) => afterAttempt(newDelivery(sentAt), at(sentAt, 500));
    assert.equal(isDue(newDelivery(now), now), true);
    assert.deepEqual([isDue(failed(now - 5000), now), isDue(failed(now - 4999), now)], [true, false]);
    assert.equal(isDue(failed(now + 30_000), now), false, 'clocks of instances differ a little');
    assert.equal(isDue(failed(now + 2 * 24 * 3_600_000), now), true);
    let last = newDelivery(now);
    for (let n = 0; n < 8; n++) last = afterAttempt(last, at(now, null));
    assert.equal(isDue(last, now), false, 'the last retry waits for twelve hours');
    for (const status of [200, 410]) assert.equal(isDue(afterAttempt(newDelivery(now), at(now, status)), now), false);
  });

  it('is retried after 5 s, 30 s, 2 min, 10 min, 1 h, 3 h, 6 h and 12 h, then fails', () => {
    let delivery: Delivery = newDelivery(0);
    const delays: number[] = [];
    const answers = [500, 404, null, 302, 401, 429, 503, null, 500];
    for (let n = 0, now = 0; delivery.status === 'pending'; n++) {
      delivery = afterAttempt(delivery, at(now, answers[n] ?? null));
      if (delivery.nextAt !== null) delays.push((delivery.nextAt - now) / 1000);
      now = delivery.nextAt ?? now;
    }
    assert.deepEqual(delays, [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200]);
    assert.equal(delivery.status, 'failed');
    assert.deepEqual(
      delivery.attempts.map(({ status }) => status),
      answers,
    );
  });

  it('fails at once on 410', () => {
    assert.equal(afterAttempt(newDelivery(0), at(0, 410)).status, 'failed');
  });

  it('starts over when it is restarted, and keeps its last 20 attempts', () => {
    let delivery: Delivery = newDelivery(0);
    for (let n = 0; n < 30; n++) delivery = afterAttempt(restartDelivery(delivery, n), at(n, 500));
    assert.equal(delivery.attempts.length, 20);
    assert.equal(delivery.attempts.at(-1)?.at, 29);
    assert.equal(delivery.nextAt, 29 + 5000);
  });

  it('is due at the earliest next attempt of its receivers', () => {
    const delivered = afterAttempt(newDelivery(0), at(0, 200));
    const waiting = afterAttempt(newDelivery(0), at(0, 500));
    assert.equal(nextAttemptAt({ request: delivered, key: waiting }), 5000);
    assert.equal(nextAttemptAt({ request: delivered }), undefined);
  });

  it('is read as the first version stored it', () => {
    const stored =
      '{"request":{"status":"pending","attempts":[{"at":12,"status":null,"error":"timeout"}],"failures":1,"nextAt":5012},' +
      '"key":{"status":"delivered","attempts":[{"at":13,"status":204,"error":null}],"failures":0,"nextAt":null}}';
    const read = readDeliveries(stored);
    assert.equal(JSON.stringify(read), stored);
    assert.equal(nextAttemptAt(read ?? {}), 5012);
    assert.equal(readDeliveries('{"request":{"status":"odd"}}'), undefined);
  });
});
