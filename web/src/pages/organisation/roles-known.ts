import { useQuery } from '@tanstack/react-query';
import type { Permission, Role } from '../../api/models';
import { useMay } from '../../api/session';
import { useRoleName } from '../../components/role-name';
import { rolesQuery } from './queries';

interface KnownRoles {
  roles: Role[] | undefined;
  /** False where one may not see roles; then nothing is known about what they allow. */
  readable: boolean;
  error: unknown;
  retry: () => void;
}

/** The roles one may see. */
export function useRoles(): KnownRoles {
  const readable = useMay()('roles.read');
  const { data, error, refetch } = useQuery({ ...rolesQuery, enabled: readable });
  return { roles: data, readable, error, retry: () => void refetch() };
}

/** The name of a role that an invitation or join code gives; they carry its id and stored name only. */
export function useGivenRoleName(): (given: { role_id: string; role_name: string }) => string {
  const { roles } = useRoles();
  const roleName = useRoleName();
  return ({ role_id, role_name }) => roleName({ role_key: roles?.find((role) => role.id === role_id)?.key, role_name });
}

/** Areas of permissions in the order they are told. */
export const areas = ['organisations', 'people', 'roles', 'queues', 'flavors', 'zones', 'audit', 'usage', 'settings', 'system'] as const;

export const areaOf = (permission: Permission): (typeof areas)[number] => permission.split('.')[0] as (typeof areas)[number];

const verbs = ['read', 'invite', 'grant', 'manage'];
const rank = (permission: Permission): number => areas.indexOf(areaOf(permission)) * verbs.length + verbs.indexOf(permission.split('.')[1] ?? '');

/** By area, and in it from looking to changing. */
export const inOrder = (permissions: readonly Permission[]): Permission[] => [...permissions].sort((a, b) => rank(a) - rank(b));
