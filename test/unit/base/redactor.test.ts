import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { Redactor } from '../../../src/base/logger.ts';
import { KnownTexts } from '../../../src/base/secrets/known-texts.ts';

const LINE =
  '{"level":30,"req":"0b0e7c6e-9a2d-4c7a","path":"/v1/chat/completions","status":200,"key":"k-1","msg":"request"}\n';

/** A seeded generator: the same numbers each time. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `sk-${n.toString(36).padStart(6, '0')}-of-many-keys-alike`);
}

describe('Redactor', () => {
  it('finds each of many secrets, of any shape, anywhere in a line', () => {
    const odd = ['p w"d\\x', 'sk-sh6', 'ünïcödé-secret', 'a'.repeat(5000), 'sk-abc', 'sk-abcdef', '🔑🔑🔑🔑'];
    const many = [...keys(20_000), ...odd];
    const redactor = new Redactor();
    redactor.setSecrets(many);
    for (const secret of [...many.filter((_, n) => n % 997 === 0), ...odd]) {
      for (const text of [secret, `x${secret}y`, `url?key=${secret}&a=1`, `${secret}${secret}`]) {
        for (const line of [text, JSON.stringify({ msg: text }), JSON.stringify({ body: JSON.stringify({ text }) })]) {
          const clean = redactor.redact(line);
          assert.ok(!clean.includes(secret), clean);
          assert.ok(!clean.includes(JSON.stringify(secret).slice(1, -1)), clean);
          assert.match(clean, /\[redacted\]/);
        }
      }
    }
    assert.equal(redactor.redact(LINE), LINE);
  });

  it('ignores secrets shorter than six characters, and forgets those no longer set', () => {
    const redactor = new Redactor();
    redactor.setSecrets(['short', 'longer', '']);
    assert.equal(redactor.redact('short longer'), 'short [redacted]');
    redactor.addSecrets(['another']);
    assert.equal(redactor.redact('longer another'), '[redacted] [redacted]');
    redactor.setSecrets(['another']);
    assert.equal(redactor.redact('longer another'), 'longer [redacted]');
  });

  it('forgets only the refreshed secrets that the next refresh omits', () => {
    const redactor = new Redactor();
    redactor.setSecrets(['lasting']);
    redactor.setRefreshed(['token of nine', 'token of ten']);
    assert.equal(redactor.redact('lasting, token of nine'), '[redacted], [redacted]');
    redactor.setRefreshed(['token of ten', 'token of eleven']);
    redactor.addSecrets(['another']);
    assert.equal(redactor.redact('lasting, token of nine, token of ten'), '[redacted], token of nine, [redacted]');
  });

  it('needs at most 20 steps for a line, with ten secrets or with 100 000', () => {
    const steps = (count: number): number => {
      const redactor = new Redactor();
      redactor.setSecrets(keys(count));
      // All searches in strings and sets; the redactor reads the characters of the line one by one besides.
      const watched = [
        ...(['includes', 'indexOf', 'replaceAll', 'slice', 'startsWith'] as const).map((name) =>
          mock.method(String.prototype, name),
        ),
        mock.method(Set.prototype, 'has'),
      ];
      try {
        redactor.redact(LINE);
        return watched.reduce((sum, { mock: calls }) => sum + calls.callCount(), 0);
      } finally {
        for (const method of watched) method.mock.restore();
      }
    };
    assert.ok(steps(10) <= 20, `${steps(10)} of ten`);
    assert.ok(steps(100_000) <= 20, `${steps(100_000)} of 100 000`);
  });
});

describe('KnownTexts', () => {
  it('replaces texts anywhere, even if they overlap or contain each other', () => {
    const next = random(7);
    const text = (length: number) => Array.from({ length }, () => 'ab'[next(2)]).join('');
    for (let round = 0; round < 500; round++) {
      const known = Array.from({ length: 1 + next(6) }, () => text(6 + next(6)));
      const found = new KnownTexts();
      for (const each of known) found.add(each);
      const where = text(next(60));
      const covered = new Set<number>();
      for (const each of known) {
        for (let at = where.indexOf(each); at !== -1; at = where.indexOf(each, at + 1)) {
          for (let n = 0; n < each.length; n++) covered.add(at + n);
        }
      }
      const left = [...where].filter((_, at) => !covered.has(at)).join('');
      assert.equal(found.replace(where, '#').replaceAll('#', ''), left, `${known.join()} in ${where}`);
    }
  });
});
