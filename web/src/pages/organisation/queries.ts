import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { Invitation, JoinCode, Role } from '../../api/models';

export const rolesQuery = queryOptions({
  queryKey: keys.roles,
  queryFn: async (): Promise<Role[]> => (await body(client.GET('/api/v1/roles'))).items,
});

export const permissionsQuery = queryOptions({
  queryKey: keys.permissions,
  queryFn: async () => (await body(client.GET('/api/v1/permissions'))).items.map(({ permission }) => permission),
  staleTime: Infinity,
});

export interface PeopleFilters {
  organisation?: string;
  role?: string;
  state?: 'active' | 'disabled' | 'pending';
  search?: string;
  sort: string;
}

const PAGE = 100;

export const peopleQuery = (filters: PeopleFilters) =>
  infiniteQueryOptions({
    queryKey: [...keys.users, 'list', filters],
    queryFn: ({ pageParam, signal }) =>
      body(client.GET('/api/v1/users', { params: { query: { ...filters, limit: PAGE, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    // While the answer to a new filter is on its way, the old rows stay.
    placeholderData: (before) => before,
  });

export const summaryQuery = (organisation: string | undefined) =>
  queryOptions({
    queryKey: [...keys.users, 'summary', organisation ?? null],
    queryFn: () => body(client.GET('/api/v1/users/summary', { params: { query: { organisation } } })),
    placeholderData: (before) => before,
  });

export const personQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.users, 'one', id],
    queryFn: () => body(client.GET('/api/v1/users/{user_id}', { params: { path: { user_id: id } } })),
  });

export const invitationsQuery = queryOptions({
  queryKey: keys.invitations,
  queryFn: () =>
    everyPage<Invitation>((cursor) =>
      body(client.GET('/api/v1/invitations', { params: { query: { limit: 200, cursor } } })),
    ),
});

export const joinCodesQuery = queryOptions({
  queryKey: keys.joinCodes,
  queryFn: () =>
    everyPage<JoinCode>((cursor) =>
      body(client.GET('/api/v1/join-codes', { params: { query: { limit: 200, cursor } } })),
    ),
});

async function everyPage<Item>(
  page: (cursor: string | undefined) => Promise<{ items: Item[]; next_cursor?: string | null }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: string | undefined;
  do {
    const { items, next_cursor } = await page(cursor);
    all.push(...items);
    cursor = next_cursor ?? undefined;
  } while (cursor);
  return all;
}
