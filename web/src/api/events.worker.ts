/// <reference lib="webworker" />
// One event stream for all tabs of a browser: six streams would block every other request on HTTP/1.1.
import { EventStream, type LiveStatus } from './events';
import type { FromWorker, ToWorker } from './live';

const ports = new Map<MessagePort, string>();
let reader: string | null = null;
let last: LiveStatus = { state: 'connecting' };

function tell(message: FromWorker): void {
  for (const port of ports.keys()) port.postMessage(message);
}

const stream = new EventStream({
  status: (status) => {
    last = status;
    tell({ type: 'status', status });
  },
  changed: (change) => tell({ type: 'changed', change }),
  reset: () => tell({ type: 'reset' }),
});

function hello(port: MessagePort, user: string): void {
  ports.set(port, user);
  // Another person signed in, or the stream had ended with the session: read as them from now on.
  if (reader !== user || last.state === 'signed-out') {
    reader = user;
    stream.start();
    return;
  }
  port.postMessage({ type: 'status', status: last } satisfies FromWorker);
  // What this tab fetched before it said hello may be older than changes that only the other tabs were told.
  port.postMessage({ type: 'reset' } satisfies FromWorker);
}

function bye(port: MessagePort): void {
  ports.delete(port);
  if (ports.size > 0) return;
  reader = null;
  stream.stop();
}

(self as unknown as SharedWorkerGlobalScope).onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.type === 'hello') hello(port, data.user);
    if (data.type === 'bye') bye(port);
    if (data.type === 'retry') stream.retry();
  };
};
