import { afterEach, describe, expect, test, vi } from 'vitest';
import { ApiError, formFields, problemOf } from '../src/api/errors';
import { EventParser, EventStream, type LiveStatus } from '../src/api/events';
import { organisationTree } from '../src/api/organisations';
import { safeReturnPath } from '../src/api/return-path';

const origin = 'https://corral.example';

describe('the way back after login', () => {
  test.each(['/people', '/people?state=active#top', '/', '/security/audit?actor=u1'])('%s is kept', (path) => {
    expect(safeReturnPath(path, origin)).toBe(path);
  });

  test.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    'javascript:alert(1)',
    'people',
    '',
    undefined,
    7,
    '/login',
    '/login?next=/people',
    '/password',
    '/.//evil.example',
    '/..//evil.example',
  ])('%j leads home instead', (path) => {
    expect(safeReturnPath(path, origin)).toBe('/');
  });
});

describe('a refusal', () => {
  const problem = {
    type: '/problems/login-failed',
    title: 'Wrong',
    status: 401,
    detail: 'd',
    remedy: 'r',
    request_id: 'q',
    tries_left: 3,
    errors: [{ field: 'body.mail', message: 'Not an address.', remedy: 'Write one.' }],
  };

  test('carries slug, remedy, numbers and fields', async () => {
    const error = await problemOf(
      new Response(JSON.stringify(problem), { status: 401, headers: { 'content-type': 'application/problem+json' } }),
    );
    expect([error.slug, error.remedy, error.number('tries_left'), error.requestId]).toEqual([
      'login-failed',
      'r',
      3,
      'q',
    ]);
    expect(formFields(error)).toEqual([{ name: ['mail'], errors: ['Not an address. Write one.'] }]);
  });

  test('that is no JSON is still an ApiError with its status', async () => {
    const error = await problemOf(
      new Response('<html>bad gateway</html>', { status: 502, headers: { 'content-type': 'text/html' } }),
    );
    expect(error).toBeInstanceOf(ApiError);
    expect(error.status).toBe(502);
  });
});

describe('the event parser', () => {
  const text = ': hi\n\nid: 7\nevent: changed\ndata: {"kind":"user"}\n\nevent: reset\ndata: {}\n\n';
  const whole = [
    { id: '7', name: 'changed', data: '{"kind":"user"}' },
    { id: '7', name: 'reset', data: '{}' },
  ];

  test('gives whole events however the text is cut', () => {
    for (let cut = 0; cut <= text.length; cut += 1) {
      const parser = new EventParser();
      expect([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], `cut at ${cut}`).toEqual(whole);
    }
  });

  test('takes CRLF line ends, also when cut between CR and LF', () => {
    const crlf = text.replaceAll('\n', '\r\n');
    for (let cut = 0; cut <= crlf.length; cut += 1) {
      const parser = new EventParser();
      expect([...parser.push(crlf.slice(0, cut)), ...parser.push(crlf.slice(cut))], `cut at ${cut}`).toEqual(whole);
    }
  });
});

describe('the event stream', () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  function listen(answers: (() => Promise<Response>)[]) {
    const statuses: LiveStatus['state'][] = [];
    const waits: number[] = [];
    const changes: string[] = [];
    const requests: Headers[] = [];
    let resets = 0;
    const stream = new EventStream(
      {
        status: (status) => {
          statuses.push(status.state);
          if (status.state === 'lost') waits.push(status.retryAt - Date.now());
        },
        changed: (change) => changes.push(change.id),
        reset: () => (resets += 1),
      },
      '/events',
      (_, init) => {
        requests.push(new Headers(init?.headers));
        return (answers.shift() ?? (() => new Promise<Response>(() => undefined)))();
      },
    );
    return { stream, statuses, waits, changes, requests, resets: () => resets };
  }
  const answer = (text: string) => () => Promise.resolve(new Response(text, { status: 200 }));

  test('resumes after the last id when the connection ends', async () => {
    vi.useFakeTimers();
    const heard = listen([answer('id: 41\nevent: changed\ndata: {"kind":"user","id":"u1"}\n\n')]);
    heard.stream.start();
    // The body is a real stream, which takes the time it takes.
    await vi.waitFor(() => expect(heard.statuses).toEqual(['connecting', 'live', 'live', 'lost']), {
      interval: 5,
      timeout: 10_000,
    });
    expect(heard.changes).toEqual(['u1']);
    await vi.advanceTimersByTimeAsync(1300);
    expect(heard.requests.map((headers) => headers.get('last-event-id'))).toEqual([null, '41']);
    heard.stream.stop();
  });

  test('that continues none says that what changed before is not told', async () => {
    vi.useFakeTimers();
    const ready = (id: number) => answer(`id: ${id}\nevent: ready\ndata: {"id":${id}}\n\n: alive\nid: ${id + 5}\n\n`);
    const heard = listen([ready(7), ready(12)]);
    heard.stream.start();
    await vi.waitFor(() => expect(heard.statuses.at(-1)).toBe('lost'), { interval: 5, timeout: 10_000 });
    expect(heard.resets()).toBe(1);
    await vi.advanceTimersByTimeAsync(1300);
    await vi.waitFor(() => expect(heard.statuses.filter((state) => state === 'lost').length).toBe(2), {
      interval: 5,
      timeout: 10_000,
    });
    // The second one went on from the last sign of life, so that nothing was missed.
    expect(heard.requests.map((headers) => headers.get('last-event-id'))).toEqual([null, '12']);
    expect(heard.resets()).toBe(1);
    heard.stream.stop();
  });

  test('goes on after a message that it cannot read, and begins afresh', async () => {
    vi.useFakeTimers();
    const unread = vi.fn();
    process.once('unhandledRejection', unread);
    const heard = listen([answer('id: 3\nevent: changed\ndata: {"kind\n\n')]);
    heard.stream.start();
    await vi.waitFor(() => expect(heard.statuses.at(-1)).toBe('lost'), { interval: 5, timeout: 10_000 });
    await vi.advanceTimersByTimeAsync(1300);
    expect(heard.requests.map((headers) => headers.get('last-event-id'))).toEqual([null, null]);
    await vi.waitFor(() => expect(unread).toHaveBeenCalledOnce(), { interval: 5, timeout: 10_000 });
    heard.stream.stop();
  });

  test('waits longer after each failure and says until when', async () => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(0.5); // The middle of the jitter.
    const refuse = () => Promise.reject(new TypeError('no network'));
    const heard = listen([refuse, refuse, refuse]);
    heard.stream.start();
    await vi.advanceTimersByTimeAsync(900);
    expect(heard.requests.length).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(heard.requests.length).toBe(2);
    await vi.advanceTimersByTimeAsync(1800);
    expect(heard.requests.length).toBe(2);
    await vi.advanceTimersByTimeAsync(200);
    expect(heard.requests.length).toBe(3);
    expect(heard.waits).toEqual([1000, 2000, 4000]);
    heard.stream.stop();
  });

  test('stops for good when the session is gone', async () => {
    vi.useFakeTimers();
    const heard = listen([() => Promise.resolve(new Response('', { status: 401 }))]);
    heard.stream.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(heard.statuses).toEqual(['connecting', 'signed-out']);
    expect(heard.requests.length).toBe(1);
  });

  test('says when the server no longer knows where it stopped', async () => {
    vi.useFakeTimers();
    const heard = listen([answer('event: reset\ndata: {}\n\n')]);
    heard.stream.start();
    await vi.advanceTimersByTimeAsync(50);
    expect(heard.resets()).toBe(1);
    heard.stream.stop();
  });

  test('takes long silence for a dead connection', async () => {
    vi.useFakeTimers();
    const silent = () =>
      Promise.resolve(
        new Response(
          new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(': hi\n\n')) }),
        ),
      );
    const heard = listen([silent]);
    heard.stream.start();
    await vi.advanceTimersByTimeAsync(44_000);
    expect(heard.statuses).not.toContain('lost');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(heard.statuses).toContain('lost');
    heard.stream.stop();
  });
});

test('an organisation whose parent one may not see is a root of the visible tree', () => {
  const one = (id: string, parent_id: string | null, name: string) => ({
    id,
    parent_id,
    name,
    path: [],
    people_count: 0,
    generation: 1,
    created_at: '2026-11-15T00:00:00Z',
  });
  const tree = organisationTree([one('o3', 'o2', 'b'), one('o4', 'o3', 'c'), one('o5', 'o3', 'a')]);
  expect(tree.map((node) => [node.id, node.children.map((child) => [child.id, child.depth])])).toEqual([
    [
      'o3',
      [
        ['o5', 1],
        ['o4', 1],
      ],
    ],
  ]);
});
