import { expect, test } from 'vitest';
import type { Queues } from '../src/api/models';
import { guaranteesOf } from '../src/pages/cluster/queues/guarantees';

const view = { pool: 'p', resource: 'gpu_milli' as const };

/** Queues of a pool with 4 GPUs: name, parent, guarantee in GPUs. */
function queues(...lines: [name: string, parent: string | null, guarantee: number][]): Pick<Queues, 'items' | 'pools'> {
  const items = lines.map(([id, parent_id, guarantee]) => ({
    id,
    name: id,
    parent_id,
    quotas: [{ pool_id: 'p', resource: 'gpu_milli', guarantee: guarantee < 0 ? -1 : guarantee * 1000 }],
  }));
  return { items, pools: [{ id: 'p', capacity: { gpu_milli: 4000 } }] } as unknown as Pick<Queues, 'items' | 'pools'>;
}

test('a guarantee of a queue further down is a guarantee', () => {
  expect(guaranteesOf(queues(['root', null, -1], ['lab', 'root', 0], ['group', 'lab', 2]), view)).toMatchObject({
    promised: 0,
    nobody: false,
  });
});

test('a guarantee of everything promises everything', () => {
  expect(guaranteesOf(queues(['root', null, -1], ['lab', 'root', -1]), view)).toMatchObject({
    has: 4000,
    promised: 4000,
    nobody: false,
  });
});

test('only the queues below are said to have no guarantee, not the one above them', () => {
  expect(guaranteesOf(queues(['lab', 'root', 2], ['group', 'lab', 0]), view)).toMatchObject({
    top: { id: 'lab' },
    has: 2000,
    promised: 0,
    nobody: true,
  });
  expect(guaranteesOf(queues(['lab', 'root', 2]), view)).toMatchObject({ nobody: false });
});
