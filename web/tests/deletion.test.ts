import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { asksForDeleted, deleteThing } from '../src/api/deletion';
import { renew } from '../src/api/renew';

let queries: QueryClient;
beforeEach(() => {
  queries = new QueryClient({ defaultOptions: { queries: { enabled: (query) => !asksForDeleted(query) } } });
});
afterEach(() => queries.clear());

async function shown(id: string) {
  const ask = vi.fn(() => Promise.resolve(id));
  const observer = new QueryObserver(queries, { queryKey: ['users', 'one', { id }], queryFn: ask });
  observer.subscribe(() => undefined);
  await vi.waitFor(() => expect(observer.getCurrentResult().data).toBe(id));
  ask.mockClear();
  return ask;
}

test('what is being deleted is not asked for again, and the rest is', async () => {
  const deleted = await shown('u1');
  const other = await shown('u2');
  await deleteThing('u1', () => renew(queries));
  await queries.invalidateQueries();
  expect(deleted).not.toHaveBeenCalled();
  expect(other).toHaveBeenCalledTimes(2);
});

test('what could not be deleted is asked for again', async () => {
  const kept = await shown('u3');
  await expect(deleteThing('u3', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  await renew(queries);
  expect(kept).toHaveBeenCalledOnce();
});
