import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { EventStream, type Change, type LiveStatus, type StreamListener } from './events';
import { keysOfKind } from './keys';
import { gatherer, renew } from './renew';

export type ToWorker = { type: 'hello'; user: string } | { type: 'bye' } | { type: 'retry' };
export type FromWorker =
  { type: 'status'; status: LiveStatus } | { type: 'changed'; change: Change } | { type: 'reset' };

/** The server is heard every 15 s; after a longer silence a page that comes into view does not trust the stream. */
const LATE_MS = 25_000;

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
      if (next.state === 'signed-out') void queries.invalidateQueries({ queryKey: ['session'] });
      setStatus(next);
    },
    changed: ({ kind }) => gather(keysOfKind(kind)),
    reset: () => void renew(queries),
  };
  return typeof SharedWorker === 'undefined' ? followHere(listener) : followShared(user, listener);
}

function followHere(listener: StreamListener): () => void {
  const stream = new EventStream(listener);
  const retry = () => stream.retry();
  stream.start();
  const rest = retryWhenBack(retry);
  return () => {
    rest();
    stream.stop();
  };
}

/** After sleep or a lost network a dead connection looks alive for a while. */
function retryWhenBack(retry: () => void): () => void {
  const seen = () => {
    if (document.visibilityState === 'visible' && status.state === 'live' && Date.now() - status.heardAt > LATE_MS)
      retry();
  };
  addEventListener('online', retry);
  document.addEventListener('visibilitychange', seen);
  return () => {
    removeEventListener('online', retry);
    document.removeEventListener('visibilitychange', seen);
  };
}

function followShared(user: string, listener: StreamListener): () => void {
  const worker = new SharedWorker(new URL('./events.worker.ts', import.meta.url), {
    type: 'module',
    name: 'corral-events',
  });
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
  const rest = retryWhenBack(retry);
  addEventListener('pagehide', bye);
  addEventListener('pageshow', hello); // Back from the browser's page cache.
  return () => {
    rest();
    removeEventListener('pagehide', bye);
    removeEventListener('pageshow', hello);
    bye();
    worker.port.close();
  };
}
