import { queryOptions } from '@tanstack/react-query';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';

export const secretsQuery = queryOptions({
  queryKey: keys.mySecrets,
  queryFn: async () => (await body(client.GET('/api/v1/me/secrets'))).items,
});

/** One's own runtimes, and those that can be made by their name alone. */
export const runtimesQuery = queryOptions({
  queryKey: keys.runtimes,
  queryFn: () => body(client.GET('/api/v1/runtimes')),
});
