import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type UrlState = Record<string, string | undefined>;

/** Search parameters as plain strings both ways; ?state=active stays readable and ?name=1 stays a string. */
export function parseSearch(search: string): UrlState {
  return Object.fromEntries(new URLSearchParams(search));
}

export function stringifySearch(state: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(state))
    if (typeof value === 'string' && value !== '') params.set(key, value);
  const text = params.toString();
  return text ? `?${text}` : '';
}

/** Filters, sort and what is open live in the address: a copied link shows the same view. */
export function useUrlState(): [UrlState, (change: UrlState) => void] {
  const state: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (next: UrlState) => {
      // An empty organisation is meaningful to the router's search middleware only as "gone".
      void navigate({ to: '.', search: (before: UrlState) => ({ ...before, ...next }), replace: true });
    },
    [navigate],
  );
  return [state, change];
}
