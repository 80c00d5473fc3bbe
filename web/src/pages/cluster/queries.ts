import { queryOptions } from '@tanstack/react-query';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { ClusterNode, Device } from '../../api/models';

const PAGE = 200;
const USE_MS = 5_000;

export const queuesQuery = queryOptions({
  queryKey: keys.queues,
  queryFn: () => body(client.GET('/api/v1/queues')),
  // What is used and wanted changes with every workload, and sends no event of its own.
  refetchInterval: USE_MS,
});

export const poolsQuery = queryOptions({
  queryKey: keys.pools,
  queryFn: async () => (await body(client.GET('/api/v1/pools'))).items,
});

export const zonesQuery = queryOptions({
  queryKey: keys.zones,
  queryFn: async () => (await body(client.GET('/api/v1/zones'))).items,
});

export const hostsQuery = queryOptions({
  queryKey: keys.hosts,
  queryFn: async () => (await body(client.GET('/api/v1/hosts'))).items,
});

export const nodesQuery = queryOptions({
  queryKey: keys.nodes,
  queryFn: async (): Promise<ClusterNode[]> => {
    const all: ClusterNode[] = [];
    let cursor: string | undefined;
    do {
      const page = await body(client.GET('/api/v1/nodes', { params: { query: { limit: PAGE, cursor } } }));
      all.push(...page.items);
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
    return all;
  },
});

/** Every device, in the order of its node; they come with the nodes. */
export const devicesOf = (nodes: readonly ClusterNode[] | undefined): Device[] | undefined =>
  nodes?.flatMap((node) => node.devices);
