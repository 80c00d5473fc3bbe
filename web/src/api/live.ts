import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { EventStream, type Change, type LiveStatus, type StreamListener } from './events';
import { keysOfKind } from './keys';

export type ToWorker = { type: 'hello'; user: string } | { type: 'bye' } | { type: 'retry' };
export type FromWorker = { type: 'status'; status: LiveStatus } | { type: 'changed'; change: Change } | { type: 'reset' };

/** Changes that come close together refetch once. */
const GATHER_MS = 150;

let status: LiveStatus = { state: 'connecting' };
const watchers = new Set<() => void>();

function setStatus(next: LiveStatus): void {
  status = next;
  for (const watcher of watchers) watcher();
}

/** State of the event stream, for the "Live" sign and the banner. */
export function useLiveStatus(): LiveStatus {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => status,
  );
}

/** Follows the server's changes as this user and refetches what they touch. Returns how to stop. */
export function followChanges(user: string, queries: QueryClient): () => void {
  const gather = gatherer(queries);
  const listener: StreamListener = {
    status: (next) => {
      // What changed while we were away was not told to us when the stream starts afresh.
      if (next.state === 'signed-out') void queries.invalidateQueries({ queryKey: ['session'] });
      setStatus(next);
    },
    changed: gather,
    reset: () => void queries.invalidateQueries(),
  };
  return typeof SharedWorker === 'undefined' ? followHere(listener) : followShared(user, listener);
}

function gatherer(queries: QueryClient): (change: Change) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const kinds = new Set<string>();
  return ({ kind }) => {
    kinds.add(kind);
    timer ??= setTimeout(() => {
      timer = undefined;
      const keys = [...kinds].flatMap(keysOfKind);
      kinds.clear();
      for (const queryKey of keys) void queries.invalidateQueries({ queryKey });
    }, GATHER_MS);
  };
}

function followHere(listener: StreamListener): () => void {
  const stream = new EventStream(listener);
  const retry = () => stream.retry();
  stream.start();
  addEventListener('online', retry);
  return () => {
    removeEventListener('online', retry);
    stream.stop();
  };
}

function followShared(user: string, listener: StreamListener): () => void {
  const worker = new SharedWorker(new URL('./events.worker.ts', import.meta.url), { type: 'module', name: 'corral-events' });
  const tell = (message: ToWorker) => worker.port.postMessage(message);
  const retry = () => tell({ type: 'retry' });
  const bye = () => tell({ type: 'bye' });
  const hello = () => tell({ type: 'hello', user });
  worker.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.type === 'status') listener.status(data.status);
    if (data.type === 'changed') listener.changed(data.change);
    if (data.type === 'reset') listener.reset();
  };
  hello();
  addEventListener('online', retry);
  addEventListener('pagehide', bye);
  addEventListener('pageshow', hello); // Back from the browser's page cache.
  return () => {
    removeEventListener('online', retry);
    removeEventListener('pagehide', bye);
    removeEventListener('pageshow', hello);
    bye();
    worker.port.close();
  };
}
