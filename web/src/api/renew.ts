import type { Query, QueryClient, QueryKey } from '@tanstack/react-query';

/** Changes that come close together refetch once. */
const GATHER_MS = 150;
/** So long at most the next changes wait for the answers to these. */
const LONGEST_MS = 5_000;

/**
 * Fetches again what a change touched; without a key everything but what says `meta.stays`, which moves only when
 * its reader asks. A fetch that is on its way may have been answered before the change, so it is followed by another;
 * it is never given up for it, or a page would show nothing new while changes keep coming.
 */
export async function renew(queries: QueryClient, queryKey?: QueryKey): Promise<void> {
  const touched = queries
    .getQueryCache()
    .findAll(queryKey ? { queryKey } : { predicate: (query) => query.meta?.stays !== true });
  await Promise.all(touched.map((query) => renewOne(queries, query)));
}

async function renewOne(queries: QueryClient, query: Query): Promise<void> {
  if (query.state.fetchStatus === 'fetching') await query.promise?.catch(() => undefined);
  await queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
}

/** Renews the keys it is called with; while answers are awaited, further ones gather. */
export function gatherer(queries: QueryClient): (keys: readonly QueryKey[]) => void {
  const waiting = new Map<string, QueryKey>();
  let busy = false;
  const work = async () => {
    busy = true;
    while (waiting.size > 0) {
      await pause(GATHER_MS);
      const keys = [...waiting.values()];
      waiting.clear();
      await Promise.race([Promise.all(keys.map((key) => renew(queries, key))), pause(LONGEST_MS)]);
    }
    busy = false;
  };
  return (keys) => {
    for (const key of keys) waiting.set(JSON.stringify(key), key);
    if (!busy) void work();
  };
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
