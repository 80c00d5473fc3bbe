import { useState } from 'react';

/**
 * What a form edits: the newest, until somebody begins to change it. From then on it stays what they
 * began with, so that nothing typed is lost when somebody else saves; `old` says that this happened.
 */
export function useBegun<T extends { generation: number }>(newest: T | undefined) {
  const [begun, setBegun] = useState<T | null>(null);
  return {
    shown: begun ?? newest,
    begin: () => setBegun((before) => before ?? newest ?? null),
    end: () => setBegun(null),
    changed: begun !== null,
    old: begun !== null && newest !== undefined && begun.generation !== newest.generation,
  };
}
