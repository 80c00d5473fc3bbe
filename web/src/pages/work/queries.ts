import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { WorkloadAction, WorkloadState } from '../../api/models';

export interface WorkloadFilters {
  state?: WorkloadState[];
  kind?: string[];
  user_id?: string;
  organisation_id?: string;
  search?: string;
}

const PAGE = 100;
const SAMPLED_MS = 5_000;
/** States that do not last. An event only wakes; should one be lost, the page must not show them for ever. */
const PASSING: ReadonlySet<WorkloadState> = new Set<WorkloadState>(['starting', 'suspending', 'stopping']);

export const workloadsQuery = (filters: WorkloadFilters) =>
  infiniteQueryOptions({
    queryKey: [...keys.workloads, 'list', filters],
    queryFn: ({ pageParam, signal }) =>
      body(
        client.GET('/api/v1/workloads', { params: { query: { ...filters, limit: PAGE, cursor: pageParam } }, signal }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.items.some((one) => PASSING.has(one.state))) ? SAMPLED_MS : false,
    // While the answer to a new filter is on its way, the old rows stay.
    placeholderData: (before) => before,
  });

/** Counts all states, also while the list shows only some. */
export const summaryQuery = (filters: WorkloadFilters) =>
  queryOptions({
    queryKey: [...keys.workloads, 'summary', { ...filters, state: undefined }],
    queryFn: () =>
      body(
        client.GET('/api/v1/workloads/summary', {
          params: {
            query: {
              kind: filters.kind,
              user_id: filters.user_id,
              organisation_id: filters.organisation_id,
              search: filters.search,
            },
          },
        }),
      ),
    placeholderData: (before) => before,
  });

export const workloadQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.workloads, 'one', id],
    queryFn: () => body(client.GET('/api/v1/workloads/{workload_id}', { params: { path: { workload_id: id } } })),
    refetchInterval: ({ state }) => (state.data !== undefined && PASSING.has(state.data.state) ? SAMPLED_MS : false),
  });

/** The flavors that may be chosen for work of an organisation. */
export const usableFlavorsQuery = (organisation: string | undefined) =>
  queryOptions({
    queryKey: [...keys.flavors, 'usable', organisation ?? null],
    queryFn: async () =>
      (
        await body(client.GET('/api/v1/flavors', { params: { query: { organisation, kind: 'training' } } }))
      ).items.filter((one) => one.enabled),
    placeholderData: (before) => before,
  });

export const whyQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.workloads, 'why', id],
    queryFn: () => body(client.GET('/api/v1/workloads/{workload_id}/why', { params: { path: { workload_id: id } } })),
    // What others do changes the answer without changing this workload.
    refetchInterval: SAMPLED_MS,
    placeholderData: (before) => before,
  });

export const samplesQuery = (id: string, since: string, live: boolean) =>
  queryOptions({
    queryKey: ['samples', id, since],
    queryFn: () =>
      body(
        client.GET('/api/v1/samples', {
          params: {
            query: {
              subject: `workload:${id}`,
              metric: ['cpu_milli', 'memory_bytes', 'gpu_memory_mib', 'gpu_busy_percent'],
              since,
              points: 400,
            },
          },
        }),
      ),
    refetchInterval: live ? SAMPLED_MS : false,
  });

export const metricsQuery = (id: string, live: boolean) =>
  queryOptions({
    queryKey: ['metrics', id],
    queryFn: () =>
      body(client.GET('/api/v1/workloads/{id}/metrics', { params: { path: { id }, query: { points: 400 } } })),
    refetchInterval: live ? SAMPLED_MS : false,
  });

export const usedQuery = (id: string, since: string, live: boolean) =>
  queryOptions({
    queryKey: ['used', id],
    queryFn: async () =>
      (await body(client.GET('/api/v1/usage', { params: { query: { workload: id, since } } }))).items,
    refetchInterval: live ? SAMPLED_MS * 3 : false,
  });

export const actOn = (action: WorkloadAction, ids: string[]) =>
  body(client.POST('/api/v1/workloads/actions', { body: { action, ids } }));
