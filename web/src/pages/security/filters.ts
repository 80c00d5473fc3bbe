import { useMemo, useState } from 'react';
import type { Scriptable } from '../../components/AsCommand';
import { useLookingAt } from '../../shell/looking-at';
import { useUrlState } from '../../shell/url-state';

export interface AuditFilters {
  actor?: string;
  action?: string[];
  object?: string;
  organisation?: string;
  result?: 'done' | 'refused';
  since?: string;
  until?: string;
}

/** Spans that are chosen by name; "days" asks for a first and a last day. */
export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 } as const;
export type Span = keyof typeof spans;

export const isSpan = (value: string | undefined): value is Span => value !== undefined && value in spans;

const startOf = (day: string): string => new Date(`${day}T00:00:00`).toISOString();
/** The day after, so that the last day counts whole. */
const endOf = (day: string): string => new Date(new Date(`${day}T00:00:00`).getTime() + 86_400_000).toISOString();
const isDay = (value: string | undefined): value is string => value !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(value);

/** What the address asks for. A named span counts back from when the page was opened, so that it stays the same search. */
export function useAuditFilters(): { filters: AuditFilters; narrowed: boolean; clear: () => void } {
  const [url, change] = useUrlState();
  const { organisation, look } = useLookingAt();
  const { actor, action, object, result, time, from, to } = url;
  const place = organisation?.id;
  const [now] = useState(() => Date.now());
  const filters = useMemo(() => {
    const since = isSpan(time)
      ? new Date(now - spans[time]).toISOString()
      : time === 'days' && isDay(from)
        ? startOf(from)
        : undefined;
    const until = time === 'days' && isDay(to) ? endOf(to) : undefined;
    const wanted: AuditFilters = {
      actor: actor || undefined,
      action: action ? action.split(',') : undefined,
      object: object || undefined,
      organisation: place,
      result: result === 'done' || result === 'refused' ? result : undefined,
      since,
      until,
    };
    return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
  }, [actor, action, object, result, time, from, to, place, now]);
  const clear = () => {
    if (organisation) look(null);
    change({
      actor: undefined,
      action: undefined,
      object: undefined,
      name: undefined,
      result: undefined,
      time: undefined,
      from: undefined,
      to: undefined,
      organisation: undefined,
    });
  };
  return { filters, narrowed: Object.keys(filters).length > 0, clear };
}

function query(filters: AuditFilters): URLSearchParams {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(filters) as [string, string | string[]][])
    for (const one of [value].flat()) params.append(key, one);
  return params;
}

/** The same search as a command and as a call. */
export function commandOf(filters: AuditFilters): Scriptable {
  const names: [keyof AuditFilters, string][] = [
    ['actor', '--user'],
    ['action', '--action'],
    ['object', '--object'],
    ['organisation', '--org'],
    ['result', '--result'],
    ['since', '--since'],
    ['until', '--until'],
  ];
  const options = names.flatMap(([key, option]) => [filters[key] ?? []].flat().map((value) => `${option} ${value}`));
  const text = query(filters).toString();
  return { cli: ['corral audit list', ...options].join(' '), api: `GET /api/v1/audit${text ? `?${text}` : ''}` };
}

/** The browser fetches it with its own session, so that a long log never passes through memory here. */
export function exportAddress(filters: AuditFilters, format: 'csv' | 'jsonl'): string {
  const params = query(filters);
  params.set('format', format);
  return `/api/v1/audit/export?${params.toString()}`;
}
