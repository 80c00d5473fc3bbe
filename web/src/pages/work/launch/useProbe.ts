import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Verdict } from '../../../api/models';
import type { Document } from './values';

const SETTLE_MS = 250;

export interface Probe {
  verdict: Verdict | undefined;
  error: unknown;
  /** The verdict is of what stood there before. */
  old: boolean;
}

/** What would become of this work now, asked again when the form has settled and when other work changes. */
export function useProbe(document: Document): Probe {
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
    queryKey: [...keys.workloads, 'probe', settled],
    queryFn: ({ signal }) => body(client.POST('/api/v1/training/probe', { body: sent, signal })),
    placeholderData: (before) => before,
    enabled: complete,
    retry: false,
  });
  return { verdict: complete ? data : undefined, error: complete ? error : null, old: isPlaceholderData || settled !== asked };
}
