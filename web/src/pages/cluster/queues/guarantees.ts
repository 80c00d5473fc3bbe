import type { Queue, Queues } from '../../../api/models';
import { UNLIMITED } from '../amounts';
import { quotaOf, type View } from './drafts';

/** What the top queue has, what the queues just below it are guaranteed of that, and whether no queue below it, however deep, has a guarantee. */
export function guaranteesOf(
  { items, pools }: Pick<Queues, 'items' | 'pools'>,
  view: View,
): { top: Queue; has: number; promised: number; nobody: boolean } | undefined {
  const top = items[0];
  const pool = pools.find((one) => one.id === view.pool);
  if (!top || !pool) return undefined;
  const guarantee = (queue: Queue) => quotaOf(queue, view)?.guarantee ?? 0;
  const has = guarantee(top) === UNLIMITED ? pool.capacity[view.resource] : guarantee(top);
  const below = items.filter((queue) => queue.parent_id === top.id).map(guarantee);
  const others = items.filter((queue) => queue.id !== top.id);
  return {
    top,
    has,
    promised: below.reduce((sum, amount) => sum + (amount === UNLIMITED ? has : amount), 0),
    nobody: others.length > 0 && others.every((queue) => guarantee(queue) === 0),
  };
}
