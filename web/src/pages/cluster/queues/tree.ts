import type { Queue, Queues } from '../../../api/models';

export interface QueueNode extends Queue {
  depth: number;
  /** The category of the branch just below the root: one colour per branch. */
  hue: number;
  children?: QueueNode[];
}

/** The visible part of the tree in the order of the answer. A queue whose parent one may not see is a root. */
export function queueTree(queues: readonly Queue[]): QueueNode[] {
  const nodes = new Map<string, QueueNode>();
  const roots: QueueNode[] = [];
  for (const queue of queues) {
    const parent = queue.parent_id ? nodes.get(queue.parent_id) : undefined;
    const node: QueueNode = {
      ...queue,
      depth: parent ? parent.depth + 1 : 0,
      hue: parent && parent.depth > 0 ? parent.hue : queue.colour,
    };
    nodes.set(queue.id, node);
    if (parent) (parent.children ??= []).push(node);
    else roots.push(node);
  }
  return roots;
}

export const flattened = (tree: readonly QueueNode[]): QueueNode[] =>
  tree.flatMap((node) => [node, ...flattened(node.children ?? [])]);

/** The tree with only what is found and all above it. */
export function found(tree: readonly QueueNode[], text: string): QueueNode[] {
  const wanted = text.trim().toLocaleLowerCase();
  if (!wanted) return [...tree];
  return tree.flatMap((node) => {
    const children = found(node.children ?? [], text);
    if (node.name.toLocaleLowerCase().includes(wanted)) return [node];
    return children.length > 0 ? [{ ...node, children }] : [];
  });
}

/** The queues above one, the nearest first. */
export function aboveOf(all: readonly QueueNode[], queue: QueueNode): QueueNode[] {
  const parent = all.find((one) => one.id === queue.parent_id);
  return parent ? [parent, ...aboveOf(all, parent)] : [];
}

/** Then a pool is called with its zone, since another zone may have one of the same name. */
export const inSeveralZones = (pools: Pick<Queues['pools'][number], 'zone_id'>[]): boolean =>
  new Set(pools.map((one) => one.zone_id)).size > 1;
