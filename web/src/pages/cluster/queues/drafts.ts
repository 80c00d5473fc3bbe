import type { Queue, Resource } from '../../../api/models';

export type Bound = 'guarantee' | 'limit' | 'weight';
type QuotaDraft = Partial<Record<Bound, number>>;

/** What one is about to change of a queue, since the generation that one saw. */
export interface Draft {
  generation: number;
  /** Of the queue itself; null means: as the queue above. */
  own: Partial<Own>;
  /** By pool and resource. */
  quotas: Record<string, QuotaDraft>;
}

/** What a queue says of itself, beside its quotas. */
export type Own = Pick<
  Queue,
  'policy' | 'priority' | 'reclaim_min_runtime_seconds' | 'preempt_min_runtime_seconds' | 'custom_numbers'
>;

export type Drafts = Readonly<Record<string, Draft>>;

export interface View {
  pool: string;
  resource: Resource;
}

const keyOf = ({ pool, resource }: View): string => `${pool} ${resource}`;

export const quotaOf = (queue: Queue, view: View): Queue['quotas'][number] | undefined =>
  queue.quotas.find((one) => one.pool_id === view.pool && one.resource === view.resource);

/** The number that is stored, and the one that it would become. */
export function bound(queue: Queue, view: View, what: Bound, drafts: Drafts): { now: number; next: number } {
  const now = quotaOf(queue, view)?.[what] ?? 0;
  return { now, next: drafts[queue.id]?.quotas[keyOf(view)]?.[what] ?? now };
}

export function withBound(drafts: Drafts, queue: Queue, view: View, what: Bound, value: number): Drafts {
  const before = draftOf(drafts, queue);
  const quota: QuotaDraft = { ...before.quotas[keyOf(view)], [what]: value };
  if (quotaOf(queue, view)?.[what] === value) delete quota[what];
  return settled(drafts, queue.id, { ...before, quotas: { ...before.quotas, [keyOf(view)]: quota } });
}

export function withOwn<Name extends keyof Own>(drafts: Drafts, queue: Queue, name: Name, value: Own[Name]): Drafts {
  const before = draftOf(drafts, queue);
  const own: Partial<Own> = { ...before.own, [name]: value };
  if (queue[name] === value) delete own[name];
  return settled(drafts, queue.id, { ...before, own });
}

/** As it would become. */
export const ownOf = (drafts: Drafts, queue: Queue): Own => ({ ...queue, ...drafts[queue.id]?.own });

const draftOf = (drafts: Drafts, queue: Queue): Draft =>
  drafts[queue.id] ?? { generation: queue.generation, own: {}, quotas: {} };

/** How many cells differ from what is stored. */
export const countOf = (drafts: Drafts): number =>
  Object.values(drafts).reduce(
    (sum, draft) =>
      sum +
      Object.keys(draft.own).length +
      Object.values(draft.quotas).reduce((cells, quota) => cells + Object.keys(quota).length, 0),
    0,
  );

/** The body of POST /queues/changes. */
export const asChanges = (drafts: Drafts) =>
  Object.entries(drafts).map(([queue_id, draft]) => ({
    queue_id,
    generation: draft.generation,
    ...draft.own,
    quotas: Object.entries(draft.quotas)
      .filter(([, quota]) => Object.keys(quota).length > 0)
      .map(([key, quota]) => {
        const [pool_id = '', resource = ''] = key.split(' ');
        return { pool_id, resource: resource as Resource, ...quota };
      }),
  }));

/** A queue that is as it was again is no draft. */
function settled(drafts: Drafts, id: string, draft: Draft): Drafts {
  const rest = Object.fromEntries(Object.entries(drafts).filter(([one]) => one !== id));
  return countOf({ [id]: draft }) > 0 ? { ...rest, [id]: draft } : rest;
}
