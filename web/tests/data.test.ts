import { expect, test } from 'vitest';
import type { Queue } from '../src/api/models';
import { asChanges, countOf, withOwn } from '../src/pages/cluster/queues/drafts';
import { labelsOf } from '../src/pages/cluster/zones/labels';
import { labelOf, requirementsOf } from '../src/pages/data/runtimes/words';

test('a requirements file is taken line by line, without comments and empty lines', () => {
  const text = '# what we need\r\nnumpy>=2  # arrays\n\n  scikit-learn\npkg @ https://example.org/pkg.whl#sha256=ab\n';
  expect(requirementsOf(text)).toEqual(['numpy>=2', 'scikit-learn', 'pkg @ https://example.org/pkg.whl#sha256=ab']);
  expect(requirementsOf(undefined)).toEqual([]);
  expect(labelOf({ name: 'vision', version: 2 })).toBe('vision:2');
});

test('labels of a pool are read one a line', () => {
  expect(labelsOf('gpu=h100\n rack = a=1 ,zone=b')).toEqual({ gpu: 'h100', rack: 'a=1', zone: 'b' });
  expect(labelsOf(undefined)).toEqual({});
});

test('a queue that is as it was again is no draft', () => {
  const queue = {
    id: 'q1',
    generation: 3,
    policy: 'elastic',
    priority: 0,
    reclaim_min_runtime_seconds: null,
    custom_numbers: null,
    quotas: [],
  } as unknown as Queue;
  const drafts = withOwn(withOwn({}, queue, 'reclaim_min_runtime_seconds', 1800), queue, 'custom_numbers', false);
  expect(countOf(drafts)).toBe(2);
  expect(asChanges(drafts)).toEqual([
    { queue_id: 'q1', generation: 3, reclaim_min_runtime_seconds: 1800, custom_numbers: false, quotas: [] },
  ]);
  expect(withOwn(withOwn(drafts, queue, 'reclaim_min_runtime_seconds', null), queue, 'custom_numbers', null)).toEqual(
    {},
  );
});
