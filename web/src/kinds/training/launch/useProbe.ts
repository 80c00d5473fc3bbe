import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { body, client } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import type { Verdict } from '../../../api/models';
import type { Document } from './values';

const SETTLE_MS = 250;

export interface Probe {
  verdict: Verdict | undefined;
  error: unknown;
  /** The verdict is of what stood there before. */
  old: boolean;
  /** The verdict of what stands there now; undefined where nobody can say. */
  ask: () => Promise<Verdict | undefined>;
}

const probeQuery = (asked: string) =>
  queryOptions({
    queryKey: [...keys.workloads, 'probe', asked],
    queryFn: ({ signal }) =>
      body(client.POST('/api/v1/training/probe', { body: JSON.parse(asked) as Document, signal })),
    retry: false,
  });

/** What would become of this work now, asked again when the form has settled and when other work changes. */
export function useProbe(document: Document): Probe {
  const queries = useQueryClient();
  // Name and command change nothing of where it fits; so it can be asked before they are there.
  const asked = JSON.stringify({ ...document, name: 'new', command: ['true'] });
  const [settled, setSettled] = useState(asked);
  useEffect(() => {
    if (settled === asked) return undefined;
    const timer = setTimeout(() => setSettled(asked), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [asked, settled]);
  const sent = JSON.parse(settled) as Document;
  // While the flavors are on their way there is nothing to ask.
  const complete = Boolean(sent.flavor ?? sent.resources);
  const { data, error, isPlaceholderData } = useQuery({
    ...probeQuery(settled),
    placeholderData: (before: Verdict | undefined) => before,
    enabled: complete,
  });
  const ask = async () => {
    try {
      return await queries.fetchQuery({ ...probeQuery(asked), staleTime: Infinity });
    } catch (problem) {
      // The work itself is refused with the same words, at its fields.
      if (problem instanceof ApiError) return undefined;
      throw problem;
    }
  };
  return {
    verdict: complete ? data : undefined,
    error: complete ? error : null,
    old: isPlaceholderData || settled !== asked,
    ask,
  };
}
