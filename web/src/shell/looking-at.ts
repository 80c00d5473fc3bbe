import { useQuery } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { organisationsQuery } from '../api/organisations';
import type { Organisation } from '../api/models';
import { readKept, writeKept } from '../kept';
import { useUrlState } from './url-state';

const watchers = new Set<() => void>();

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/**
 * The node of the tree one looks at: from the address, else the last one chosen in this browser,
 * else everything one may see (null).
 */
export function useLookingAt(): { organisation: Organisation | null; look: (id: string | null) => void } {
  const [state, change] = useUrlState();
  const { data: organisations } = useQuery(organisationsQuery);
  // Watched, not only read: forgetting it changes nothing in an address that does not name it.
  const kept = useSyncExternalStore(subscribe, () => readKept('organisation'));
  const wanted = state.organisation ?? kept;
  const organisation = organisations?.find((one) => one.id === wanted) ?? null;
  const look = useCallback(
    (id: string | null) => {
      writeKept('organisation', id);
      for (const watcher of watchers) watcher();
      change({ organisation: id ?? undefined });
    },
    [change],
  );
  return { organisation, look };
}
