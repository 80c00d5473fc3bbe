import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { ChangedQueues } from '../../../api/models';
import { asChanges, type Drafts } from './drafts';

const TYPING_MS = 250;

export interface QueueVerdict {
  data: ChangedQueues | undefined;
  error: unknown;
  /** It is of what stood there before. */
  old: boolean;
}

/** What the drafts would do, asked once they have rested; the last verdict stays until the next one comes. */
export function useVerdict(drafts: Drafts): QueueVerdict {
  const [settled, setSettled] = useState(drafts);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(drafts), TYPING_MS);
    return () => clearTimeout(timer);
  }, [drafts]);
  const asked = Object.keys(settled).length > 0 && Object.keys(drafts).length > 0;
  const { data, error } = useQuery({
    queryKey: [...keys.queueVerdict, asChanges(settled)],
    queryFn: () =>
      body(client.POST('/api/v1/queues/changes', { body: { changes: asChanges(settled), dry_run: true } })),
    placeholderData: keepPreviousData,
    enabled: asked,
    retry: false,
  });
  return { data: asked ? data : undefined, error: asked ? error : null, old: settled !== drafts };
}
