import { queryOptions } from '@tanstack/react-query';
import { body, client } from './client';
import { keys } from './keys';
import type { Organisation } from './models';

/** Every organisation one may see; the tree is small next to people, so it comes whole. */
export const organisationsQuery = queryOptions({
  queryKey: keys.organisations,
  queryFn: async (): Promise<Organisation[]> => {
    return (await body(client.GET('/api/v1/organisations'))).items;
  },
  staleTime: 60_000,
});

export interface OrganisationNode extends Organisation {
  depth: number;
  children: OrganisationNode[];
}

/** The visible part of the tree, parents before children, siblings by name. A node whose parent one may not see is a root. */
export function organisationTree(all: readonly Organisation[]): OrganisationNode[] {
  const nodes = new Map(all.map((one) => [one.id, { ...one, depth: 0, children: [] as OrganisationNode[] }]));
  const roots: OrganisationNode[] = [];
  for (const node of nodes.values()) {
    const parent = node.parent_id ? nodes.get(node.parent_id) : undefined;
    (parent ? parent.children : roots).push(node);
  }
  const settle = (siblings: OrganisationNode[], depth: number) => {
    siblings.sort((a, b) => a.name.localeCompare(b.name));
    for (const node of siblings) {
      node.depth = depth;
      settle(node.children, depth + 1);
    }
  };
  settle(roots, 0);
  return roots;
}

export function flatten(tree: readonly OrganisationNode[]): OrganisationNode[] {
  return tree.flatMap((node) => [node, ...flatten(node.children)]);
}
