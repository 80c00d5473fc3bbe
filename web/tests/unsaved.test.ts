import { describe, expect, test } from 'vitest';
import { closesForms, standing } from '../src/components/unsaved';

const at = (pathname: string, search: Record<string, string> = {}) => ({ pathname, search });

describe('leaving a form', () => {
  test('another page, another row and a closed panel take it off the screen', () => {
    expect(closesForms(at('/training/launch'), at('/training'))).toBe(true);
    expect(closesForms(at('/flavors', { flavor: 'a' }), at('/flavors', { flavor: 'b' }))).toBe(true);
    expect(closesForms(at('/flavors', { edit: 'new' }), at('/flavors'))).toBe(true);
    expect(closesForms(at('/profile', { tab: 'tokens' }), at('/profile'))).toBe(true);
  });

  test('what only changes the list beside it does not', () => {
    expect(closesForms(at('/people', { person: 'a' }), at('/people', { person: 'a', search: 'ada', role: 'r' }))).toBe(
      false,
    );
    expect(closesForms(at('/queues', { pool: 'a' }), at('/queues', { pool: 'b', queue: 'q' }))).toBe(false);
    expect(closesForms(at('/roles', { role: 'a' }), at('/roles', { role: 'b' }))).toBe(true);
  });
});

describe('what stands in a form', () => {
  test('is the same when a change was taken back', () => {
    expect(standing({ name: '', labels: [], home: false, gpu: { models: [] } })).toBe(standing({}));
    expect(standing({ b: 1, a: [{}] })).toBe(standing({ a: undefined, b: 1 }));
  });

  test('is another when anything was filled in, ticked or taken out', () => {
    expect(standing({ name: 'a' })).not.toBe(standing({ name: '' }));
    expect(standing({ home: true })).not.toBe(standing({ home: false }));
    expect(standing({ permissions: ['a'] })).not.toBe(standing({ permissions: ['a', 'b'] }));
    expect(standing({ count: 0 })).not.toBe(standing({}));
  });
});
