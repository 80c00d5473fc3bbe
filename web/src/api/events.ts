/** One change, as the server tells it: what kind of thing, which, and its new generation. */
export interface Change {
  kind: string;
  id: string;
  generation?: number;
  scope?: string | null;
}

export type LiveStatus =
  | { state: 'connecting' }
  | { state: 'live'; heardAt: number }
  | { state: 'lost'; lostAt: number; retryAt: number }
  | { state: 'signed-out' };

export interface StreamListener {
  status: (status: LiveStatus) => void;
  changed: (change: Change) => void;
  /** What changed before now was not told: everything on screen may be old. */
  reset: () => void;
}

const RETRY_SECONDS = [1, 2, 4, 8, 15, 30];
/** The server sends a comment well within this time; silence means a dead connection. */
const SILENCE_MS = 45_000;

/**
 * The event stream over fetch. EventSource hides the status code, the wait before its next try and
 * forgets the last id when it is made anew; this class keeps all three.
 */
export class EventStream {
  private lastId: string | null = null;
  private failures = 0;
  private lostAt: number | null = null;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private silenceTimer: ReturnType<typeof setTimeout> | undefined;
  private abort: AbortController | undefined;

  constructor(
    private readonly listener: StreamListener,
    private readonly url = '/api/v1/events',
    private readonly fetchStream: typeof fetch = (input, init) => fetch(input, init),
  ) {}

  start(): void {
    this.stop();
    this.lastId = null;
    this.listener.status({ state: 'connecting' });
    void this.run();
  }

  /** Tries at once instead of waiting. */
  retry(): void {
    clearTimeout(this.retryTimer);
    void this.run();
  }

  stop(): void {
    clearTimeout(this.retryTimer);
    clearTimeout(this.silenceTimer);
    this.abort?.abort();
    this.abort = undefined;
    this.failures = 0;
    this.lostAt = null;
  }

  private async run(): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const afresh = this.lastId === null;
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' };
      if (this.lastId) headers['Last-Event-ID'] = this.lastId;
      const response = await this.fetchStream(this.url, {
        headers,
        signal: abort.signal,
        cache: 'no-store',
        credentials: 'same-origin',
      });
      if (this.abort !== abort) return; // Stopped or restarted meanwhile.
      if (response.status === 401) {
        this.listener.status({ state: 'signed-out' });
        return;
      }
      if (!response.ok || !response.body) throw new TypeError(`the event stream answered ${response.status}`);
      await this.read(response.body, abort, afresh);
      throw new TypeError('the event stream ended');
    } catch (error) {
      if (this.abort !== abort) return;
      abort.abort();
      this.lost();
      if (error instanceof TypeError || error instanceof DOMException) return;
      // Something in it could not be read: the next stream begins afresh, and the reason is seen.
      this.lastId = null;
      throw error;
    }
  }

  private async read(stream: ReadableStream<Uint8Array>, abort: AbortController, afresh: boolean): Promise<void> {
    const reader = stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    abort.signal.addEventListener('abort', () => void reader.cancel());
    const parser = new EventParser();
    this.heard(abort);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (this.abort !== abort) return;
      this.heard(abort);
      for (const event of parser.push(value)) this.deliver(event, afresh);
      // A sign of life moves the place on, too: who may see little does not fall behind.
      this.lastId = parser.place ?? this.lastId;
    }
  }

  private heard(abort: AbortController): void {
    this.failures = 0;
    this.lostAt = null;
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => {
      if (this.abort === abort) abort.abort();
    }, SILENCE_MS);
    this.listener.status({ state: 'live', heardAt: Date.now() });
  }

  private deliver(event: ParsedEvent, afresh: boolean): void {
    if (event.id !== null) this.lastId = event.id;
    // A stream that continues none begins now; what changed since the page was loaded is in no event.
    if (event.name === 'reset' || (event.name === 'ready' && afresh)) this.listener.reset();
    if (event.name === 'changed') this.listener.changed(JSON.parse(event.data) as Change);
  }

  private lost(): void {
    clearTimeout(this.silenceTimer);
    const seconds = RETRY_SECONDS[Math.min(this.failures, RETRY_SECONDS.length - 1)] ?? 30;
    const wait = seconds * 1000 * (0.8 + Math.random() * 0.4);
    this.failures += 1;
    this.lostAt ??= Date.now();
    this.listener.status({ state: 'lost', lostAt: this.lostAt, retryAt: Date.now() + wait });
    this.retryTimer = setTimeout(() => void this.run(), wait);
  }
}

export interface ParsedEvent {
  id: string | null;
  name: string;
  data: string;
}

/** Text of a server-sent event stream in, whole events out; chunks may end anywhere. */
export class EventParser {
  /** The id of the last whole message, also of one without data. */
  place: string | null = null;
  private rest = '';
  private id: string | null = null;
  private name = 'message';
  private data: string[] = [];

  push(text: string): ParsedEvent[] {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    const events: ParsedEvent[] = [];
    for (const line of lines) {
      if (line === '') {
        this.place = this.id;
        if (this.data.length > 0 || this.name !== 'message')
          events.push({ id: this.id, name: this.name, data: this.data.join('\n') });
        this.name = 'message';
        this.data = [];
      } else this.field(line);
    }
    return events;
  }

  private field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return; // A comment: the server's sign of life.
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') this.id = value;
    if (name === 'event') this.name = value;
    if (name === 'data') this.data.push(value);
  }
}
