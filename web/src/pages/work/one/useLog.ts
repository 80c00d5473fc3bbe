import { useEffect, useState } from 'react';
import { body, client } from '../../../api/client';
import { append, empty, type LogState } from './log-lines';

const WAIT_SECONDS = 20;
const TAIL_BYTES = 512 * 1024;
const AGAIN_MS = 3_000;

export interface Log {
  state: LogState;
  status: 'reading' | 'following' | 'ended' | 'lost';
}

/** Follows what a replica writes: the end of what is there, then everything that comes, until nothing more will. */
export function useLog(id: string, attempt: number | undefined, replica: number): Log {
  const [log, setLog] = useState<Log>({ state: empty, status: 'reading' });
  useEffect(() => {
    const stop = new AbortController();
    void follow(id, attempt, replica, stop.signal, setLog);
    return () => stop.abort();
  }, [id, attempt, replica]);
  return log;
}

async function follow(
  id: string,
  attempt: number | undefined,
  replica: number,
  signal: AbortSignal,
  tell: (change: (before: Log) => Log) => void,
): Promise<void> {
  let after: number | undefined;
  tell(() => ({ state: empty, status: 'reading' }));
  while (!signal.aborted) {
    try {
      const first = after === undefined;
      const query = {
        attempt,
        replica,
        ...(first ? { tail_bytes: TAIL_BYTES } : { after, wait_seconds: WAIT_SECONDS }),
      };
      const part = await body(
        client.GET('/api/v1/workloads/{workload_id}/logs', { params: { path: { workload_id: id }, query }, signal }),
      );
      if (signal.aborted) return;
      after = part.next;
      tell(({ state }) => ({
        state: append(state, { text: part.text, dropped: first ? 0 : part.dropped, earlier: first && part.offset > 0 }),
        status: part.ended ? 'ended' : 'following',
      }));
      if (part.ended) return;
    } catch {
      // Refused or unreachable: what is shown stays, and it is asked again from the same place.
      if (signal.aborted) return;
      tell((before) => ({ ...before, status: 'lost' }));
      await pause(AGAIN_MS, signal);
    }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
