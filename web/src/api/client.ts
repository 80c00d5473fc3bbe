import createClient, { type Middleware } from 'openapi-fetch';
import { ApiError, problemOf, unreachable } from './errors';
import type { paths } from './schema';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

let csrfToken: string | null = null;
let signedOut: () => void = () => undefined;
let passwordNeeded: () => void = () => undefined;

/** The token of the session in use; every change carries it. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** What to do when the server no longer knows the session. */
export function onSignedOut(callback: () => void): void {
  signedOut = callback;
}

/** What to do when the server wants a new password before anything else. */
export function onPasswordNeeded(callback: () => void): void {
  passwordNeeded = callback;
}

const middleware: Middleware = {
  onRequest({ request }) {
    request.headers.set('Accept', 'application/json');
    if (!SAFE.has(request.method) && csrfToken) request.headers.set('X-CSRF-Token', csrfToken);
    return request;
  },
  async onResponse({ request, response }) {
    if (response.ok) return undefined;
    const error = await problemOf(response);
    // Only a lost session leads to the login page; a wrong password at login is that page's own business.
    if (error.status === 401 && error.slug !== 'login-failed' && !isPublic(request.url)) signedOut();
    if (error.slug === 'password-change-required') passwordNeeded();
    throw error;
  },
  onError({ error }) {
    return error instanceof ApiError ? error : unreachable();
  },
};

function isPublic(url: string): boolean {
  const path = new URL(url, 'http://localhost').pathname.replace('/api/v1', '');
  return /^\/(session(\/link)?|login-options|sign-up|join(\/preview)?|invitations\/(preview|accept))$/.test(path);
}

export const client = createClient<paths>({ baseUrl: '', credentials: 'same-origin' });
client.use(middleware);

/** The body of an answer. Refusals were thrown as ApiError before this is reached. */
export async function body<T>(answer: Promise<{ data?: T; response: Response }>): Promise<T> {
  return (await answer).data as T;
}

/** Headers for changing a thing one has seen in this generation; the server refuses when it is older. */
export function ifMatch(thing: { generation: number }): { 'if-match': string } {
  return { 'if-match': `"${thing.generation}"` };
}

/** A key that makes repeating the same create harmless. */
export function idempotencyKey(): { 'idempotency-key': string } {
  return { 'idempotency-key': crypto.randomUUID() };
}
