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

type Parts = Permission extends infer One ? (One extends `${infer Area}.${infer Verb}` ? [Area, Verb] : never) : never;
type Area = Parts[0];

// As records: one that is missing here does not compile.
const areaRanks: Record<Area, number> = {
  organisations: 0,
  people: 1,
  roles: 2,
  workloads: 3,
  queues: 4,
  flavors: 5,
  zones: 6,
  audit: 7,
  usage: 8,
  settings: 9,
  system: 10,
};
const verbRanks: Record<Parts[1], number> = { read: 0, run: 1, invite: 2, grant: 3, manage: 4 };

/** Areas of permissions in the order they are told. */
export const areas = (Object.keys(areaRanks) as Area[]).sort((a, b) => areaRanks[a] - areaRanks[b]);

const partsOf = (permission: Permission): Parts => permission.split('.') as Parts;
export const areaOf = (permission: Permission): Area => partsOf(permission)[0];

const rank = (permission: Permission): number => {
  const [area, verb] = partsOf(permission);
  return areaRanks[area] * 10 + verbRanks[verb];
};

/** By area, and in it from looking to changing. */
export const inOrder = (permissions: readonly Permission[]): Permission[] =>
  [...permissions].sort((a, b) => rank(a) - rank(b));
