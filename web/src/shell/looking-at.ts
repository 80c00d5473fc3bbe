import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { organisationsQuery } from '../api/organisations';
import type { Organisation } from '../api/models';
import { readKept, writeKept } from '../kept';
import { useUrlState } from './url-state';

/**
 * The node of the tree one looks at: from the address, else the last one chosen in this browser,
 * else everything one may see (null).
 */
export function useLookingAt(): { organisation: Organisation | null; look: (id: string | null) => void } {
  const [state, change] = useUrlState();
  const { data: organisations } = useQuery(organisationsQuery);
  const wanted = state.organisation ?? readKept('organisation');
  const organisation = organisations?.find((one) => one.id === wanted) ?? null;
  const look = useCallback(
    (id: string | null) => {
      writeKept('organisation', id);
      change({ organisation: id ?? undefined });
    },
    [change],
  );
  return { organisation, look };
}
