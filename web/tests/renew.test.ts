import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { gatherer, renew } from '../src/api/renew';

/** A page that shows what a slow server says: each fetch is answered by hand, with the state of when it began. */
function shown(queries: QueryClient) {
  let state = 'starting';
  const answers: (() => void)[] = [];
  const observer = new QueryObserver(queries, {
    queryKey: ['workloads', 'list'],
    queryFn: () => {
      const read = state;
      return new Promise<string>((resolve) => answers.push(() => resolve(read)));
    },
    staleTime: Infinity,
    retry: false,
  });
  const leave = observer.subscribe(() => undefined);
  return {
    becomes: (next: string) => (state = next),
    answer: () => answers.shift()?.(),
    asked: () => answers.length,
    seen: () => observer.getCurrentResult().data,
    leave,
  };
}

let queries: QueryClient;
beforeEach(() => {
  vi.useFakeTimers();
  queries = new QueryClient();
});
afterEach(() => {
  queries.clear();
  vi.useRealTimers();
});
const settle = () => vi.advanceTimersByTimeAsync(1);

test('a change that comes while the first answer is on its way is seen', async () => {
  const page = shown(queries);
  page.becomes('running');
  void renew(queries, ['workloads']);
  page.answer();
  await settle();
  expect(page.seen()).toBe('starting');
  page.answer();
  await settle();
  expect(page.seen()).toBe('running');
  page.leave();
});

test('an answer older than the change never stays', async () => {
  const page = shown(queries);
  page.answer();
  await settle();
  void renew(queries, ['workloads']);
  await settle();
  page.becomes('running');
  void renew(queries, ['workloads']);
  page.answer();
  await settle();
  page.answer();
  await settle();
  expect(page.seen()).toBe('running');
  page.leave();
});

test('a page shows something new also while changes keep coming', async () => {
  const page = shown(queries);
  page.answer();
  await settle();
  page.becomes('running');
  const changed = gatherer(queries);
  // A change every 50 ms, and a server that takes 400 ms for an answer.
  for (let turn = 0; turn < 20; turn += 1) {
    changed([['workloads']]);
    await vi.advanceTimersByTimeAsync(50);
    if (turn % 8 === 7) page.answer();
  }
  await settle();
  expect(page.seen()).toBe('running');
  expect(page.asked()).toBeLessThanOrEqual(1);
  page.leave();
});

test('changes after the last answer are asked for once more', async () => {
  const page = shown(queries);
  page.answer();
  await settle();
  const changed = gatherer(queries);
  changed([['workloads']]);
  await vi.advanceTimersByTimeAsync(200);
  page.becomes('running');
  changed([['workloads'], ['audit']]);
  page.answer();
  await vi.advanceTimersByTimeAsync(200);
  page.answer();
  await settle();
  expect(page.seen()).toBe('running');
  page.leave();
});

test('a list that stays is not moved under its reader when everything is fetched again', async () => {
  const fetched: string[] = [];
  const leave = ['stays', 'moves'].map((name) =>
    new QueryObserver(queries, {
      queryKey: [name],
      queryFn: () => fetched.push(name),
      meta: { stays: name === 'stays' },
    }).subscribe(() => undefined),
  );
  await vi.runAllTimersAsync();
  await renew(queries);
  expect(fetched).toEqual(['stays', 'moves', 'moves']);
  for (const each of leave) each();
});
