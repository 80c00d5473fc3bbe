import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { flatten, organisationsQuery, organisationTree, type OrganisationNode } from '../../api/organisations';
import type { Organisation, Permission, Role } from '../../api/models';
import { useSession } from '../../api/session';

const SEPARATOR = ' › ';

export interface Places {
  /** Parents before children, siblings by name. */
  nodes: OrganisationNode[];
  find: (id: string | null | undefined) => Organisation | undefined;
  /** "Vision Lab › drone-nav"; the root alone by its name. Falls back to what one was told where it may not be seen. */
  crumb: (id: string, known?: string) => string;
  /** What one may do there, from the roles on it and on what is above it. */
  heldOn: (id: string | undefined) => ReadonlySet<Permission>;
  /** Whether a role can be given there: made for it or for what is above, and one holds all that it allows. */
  grantable: (role: Role, id: string) => 'yes' | 'elsewhere' | 'beyond';
  /** When the first of these ends that one holds there, as the API writes it; null if none does. What one gives ends then, too. */
  until: (permissions: readonly Permission[], id: string) => string | null;
  loading: boolean;
}

const byTime = (one: string, other: string): number => Date.parse(one) - Date.parse(other);

/** The organisation tree as one sees it, with what one may do where. */
export function usePlaces(): Places {
  const { data, isPending } = useQuery(organisationsQuery);
  const { permissions } = useSession();
  return useMemo(() => {
    const nodes = flatten(organisationTree(data ?? []));
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const held = new Map(permissions.map((here) => [here.organisation_id, here.permissions]));
    const path = (id: string): string[] => byId.get(id)?.path ?? [id];
    const crumb = (id: string, known?: string): string => {
      const node = byId.get(id);
      if (!node) return known ?? id;
      const names = node.path.map((one) => byId.get(one)).filter((one) => one !== undefined);
      return (names.length > 1 ? names.slice(1) : names).map((one) => one.name).join(SEPARATOR);
    };
    const heldOn = (id: string | undefined): ReadonlySet<Permission> =>
      new Set(id === undefined ? [] : path(id).flatMap((one) => held.get(one) ?? []));
    const grantable = (role: Role, id: string) => {
      if (byId.has(id) && byId.has(role.organisation_id) && !path(id).includes(role.organisation_id))
        return 'elsewhere';
      const here = heldOn(id);
      return role.permissions.every((permission) => here.has(permission)) ? 'yes' : 'beyond';
    };
    const whole = new Map(permissions.map((here) => [here.organisation_id, here]));
    const until = (wanted: readonly Permission[], id: string): string | null => {
      const ends = wanted.flatMap((permission) => {
        const those = path(id)
          .map((one) => whole.get(one))
          .filter((here) => here?.permissions.includes(permission))
          .map((here) => here?.ends[permission]);
        return those.length === 0 || those.includes(undefined) ? [] : [those.map(String).sort(byTime).at(-1) ?? ''];
      });
      return ends.sort(byTime)[0] ?? null;
    };
    return { nodes, until, find: (id) => byId.get(id ?? ''), crumb, heldOn, grantable, loading: isPending };
  }, [data, permissions, isPending]);
}
