import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { Connection } from '../../../src/store/redis/connection/connection.ts';
import { parseTarget } from '../../../src/store/redis/connection/target.ts';
import { Topology } from '../../../src/store/redis/connection/topology.ts';
import { eventually } from '../../support/eventually.ts';
import { redisOrSkip } from '../../support/redis.ts';
import { patience } from '../../support/time-limit.ts';

describe('a connection to servers of which one cannot be reached at first', function () {
  // A server is killed and started again.
  this.timeout(patience(30));
  it('reports it lost, then back, so that the topology is asked for at its usual pace', async function () {
    await using server = await redisOrSkip(this);
    const common = { log: silentLogger, limitMs: 500, target: parseTarget(server.url) };
    await server.kill();
    using topology = await Topology.open(common);
    const told: string[] = [];
    const reports = new Proxy(topology, {
      get(of, name) {
        if (name === 'masters') return [];
        const value: unknown = Reflect.get(of, name);
        if (name === 'markLost' || name === 'markBack') told.push(name);
        return typeof value === 'function' ? value.bind(of) : value;
      },
    });
    const connection = await Connection.open({ ...common, connectLimitMs: 20_000, topology: reports });
    await assert.rejects(connection.command(['GET', 'a']), GatewayError);
    assert.deepEqual(told, ['markLost']);
    await server.start();
    await eventually('it answers', () => connection.command(['PING']).catch(() => undefined));
    assert.equal(told.at(-1), 'markBack');
    await connection.close();
  });
});
