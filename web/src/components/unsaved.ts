import { createContext, useContext, useEffect, useRef } from 'react';

/** Each says whether it differs from what is saved. */
export type Edits = Set<() => boolean>;

const onScreen: Edits = new Set();

/** Edits of one thing, whose forms share a version (`LatestVersion`). */
export const EditScope = createContext<Edits | null>(null);

export const hasUnsaved = (edits: Edits = onScreen): boolean => [...edits].some((changed) => changed());

/** What is on the screen may be lost now. */
export const discardUnsaved = (): void => onScreen.clear();

/** As long as it is on the screen and changed, leaving it is asked about first. */
export function useUnsaved(changed: () => boolean): void {
  const latest = useRef(changed);
  const scope = useContext(EditScope);
  useEffect(() => {
    latest.current = changed;
  });
  useEffect(() => {
    const edit = () => latest.current();
    const places = scope ? [onScreen, scope] : [onScreen];
    for (const edits of places) edits.add(edit);
    return () => {
      for (const edits of places) edits.delete(edit);
    };
  }, [scope]);
}

/** Values in a form that can be compared: what is empty, unticked or not there is the same. */
export function standing(values: unknown): string {
  return JSON.stringify(filled(values)) ?? '';
}

function filled(value: unknown): unknown {
  if (Array.isArray(value)) {
    const rest = value.map(filled).filter((one) => one !== undefined);
    return rest.length > 0 ? rest : undefined;
  }
  if (value !== null && typeof value === 'object') {
    const rest = Object.entries(value).flatMap(([key, one]) =>
      filled(one) === undefined ? [] : [[key, filled(one)] as const],
    );
    return rest.length > 0 ? Object.fromEntries(rest.sort(([a], [b]) => a.localeCompare(b))) : undefined;
  }
  return value === '' || value === null || value === false ? undefined : value;
}

/** Parameters of an address that change what a page lists, and leave its forms where they are. */
const VIEW: Record<string, readonly string[]> = {
  '*': ['search', 'organisation', 'state', 'kind', 'whose', 'sort'],
  '/people': ['role'],
  '/queues': ['pool', 'resource', 'queue'],
};

interface Place {
  pathname: string;
  search: Record<string, unknown>;
}

/** Whether going from one address to another takes forms off the screen. */
export function closesForms(from: Place, to: Place): boolean {
  if (from.pathname !== to.pathname) return true;
  const kept = [...(VIEW['*'] ?? []), ...(VIEW[from.pathname] ?? [])];
  return [...new Set([...Object.keys(from.search), ...Object.keys(to.search)])].some(
    (key) => !kept.includes(key) && from.search[key] !== to.search[key],
  );
}
