import { expect, test } from 'vitest';
import { kinds, plugOf } from '../src/kinds';
import { pages } from '../src/pages/registry';

test('each kind is there once, and the console says so of one that it does not know', () => {
  expect(new Set(kinds.map(({ kind }) => kind)).size).toBe(kinds.length);
  expect(kinds.map(({ kind }) => plugOf(kind))).toEqual([...kinds]);
  expect(plugOf('toy')).toBeUndefined();
});

test('the pages of every kind have a place, and where it leads to is a page', () => {
  const paths = pages.map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
  for (const { home, launch, pages: own } of kinds) {
    expect(paths).toEqual(expect.arrayContaining(own.map(({ path }) => path)));
    expect(paths).toContain(home.path);
    if (launch) expect(own.map(({ path }) => path)).toContain(launch.path);
  }
});
