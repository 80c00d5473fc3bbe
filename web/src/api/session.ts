import { queryOptions, useQuery, type QueryClient } from '@tanstack/react-query';
import { body, client, setCsrfToken } from './client';
import { ApiError } from './errors';
import { keys } from './keys';
import type { Permission, Session, User } from './models';

/** Who is signed in, or null. */
export const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: async (): Promise<Session | null> => {
    try {
      const session = await body(client.GET('/api/v1/session'));
      setCsrfToken(session.csrf_token);
      return session;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      setCsrfToken(null);
      return null;
    }
  },
  staleTime: 60_000,
});

/** Takes a session the server just made. What was cached for whoever was here before is dropped. */
export function adoptSession(queries: QueryClient, session: Session): void {
  setCsrfToken(session.csrf_token);
  queries.setQueryData(keys.session, session);
  forgetOthers(queries);
}

export function dropSession(queries: QueryClient): void {
  setCsrfToken(null);
  queries.setQueryData(keys.session, null);
  forgetOthers(queries);
}

/** Drops what was read for somebody else. The session's own query stays: pages on screen are watching it. */
function forgetOthers(queries: QueryClient): void {
  const kept = new Set<unknown>([keys.session[0], keys.loginOptions[0]]);
  queries.removeQueries({ predicate: ({ queryKey }) => !kept.has(queryKey[0]) });
}

/** The session inside the shell, where there always is one. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error('useSession is used outside the signed-in shell');
  return data;
}

export function useMe(): User {
  return useSession().user;
}

/** Whether the role on any organisation allows it; which ones, the server decides again at each call. */
export function hasPermission(session: Session, permission: Permission): boolean {
  return session.permissions.some((held) => held.permissions.includes(permission));
}

export function useMay(): (permission: Permission) => boolean {
  const session = useSession();
  return (permission) => hasPermission(session, permission);
}

export async function signOut(): Promise<void> {
  await body(client.DELETE('/api/v1/session'));
  // A fresh start: nothing of this person stays in memory.
  location.assign('/login');
}

/** Every permission one holds somewhere, each once. */
export function permissionsOf(session: Session): Permission[] {
  return [...new Set(session.permissions.flatMap((held) => held.permissions))].sort();
}
