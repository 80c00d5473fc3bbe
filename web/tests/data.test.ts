import { expect, test } from 'vitest';
import { labelOf, requirementsOf } from '../src/pages/data/runtimes/words';

test('a requirements file is taken line by line, without comments and empty lines', () => {
  const text = '# what we need\r\nnumpy>=2  # arrays\n\n  scikit-learn\npkg @ https://example.org/pkg.whl#sha256=ab\n';
  expect(requirementsOf(text)).toEqual(['numpy>=2', 'scikit-learn', 'pkg @ https://example.org/pkg.whl#sha256=ab']);
  expect(requirementsOf(undefined)).toEqual([]);
  expect(labelOf({ name: 'vision', version: 2 })).toBe('vision:2');
});
