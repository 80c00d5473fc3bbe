import type { QueryKey } from '@tanstack/react-query';

/** First part of every query key: what the data is about. */
export const keys = {
  session: ['session'] as const,
  me: ['me'] as const,
  mySessions: ['my-sessions'] as const,
  myTokens: ['my-tokens'] as const,
  mySshKeys: ['my-ssh-keys'] as const,
  mySecrets: ['my-secrets'] as const,
  runtimes: ['runtimes'] as const,
  loginOptions: ['login-options'] as const,
  organisations: ['organisations'] as const,
  users: ['users'] as const,
  roles: ['roles'] as const,
  permissions: ['permissions'] as const,
  grants: ['grants'] as const,
  invitations: ['invitations'] as const,
  joinCodes: ['join-codes'] as const,
  audit: ['audit'] as const,
  workloads: ['workloads'] as const,
  settings: ['settings'] as const,
  checklist: ['checklist'] as const,
  system: ['system'] as const,
  queues: ['queues'] as const,
  queueVerdict: ['queue-verdict'] as const,
  flavors: ['flavors'] as const,
  pools: ['pools'] as const,
  nodes: ['nodes'] as const,
  zones: ['zones'] as const,
  hosts: ['hosts'] as const,
};

/** Which data a change of this kind makes old. */
const touched: Record<string, readonly QueryKey[]> = {
  user: [keys.users, keys.me, keys.session, keys.organisations, keys.roles, keys.checklist],
  organisation: [keys.organisations, keys.users, keys.checklist, keys.queues],
  membership: [keys.users, keys.organisations],
  role: [keys.roles, keys.users, keys.session],
  grant: [keys.grants, keys.users, keys.session],
  invitation: [keys.invitations, keys.users, keys.checklist],
  join_code: [keys.joinCodes, keys.users, keys.checklist],
  session: [keys.mySessions, keys.session],
  token: [keys.myTokens],
  ssh_key: [keys.mySshKeys],
  queue: [keys.queues],
  flavor: [keys.flavors],
  // What flavors fit on changes with the nodes.
  pool: [keys.pools, keys.nodes, keys.queues, keys.flavors, keys.zones],
  node: [keys.nodes, keys.pools, keys.queues, keys.flavors, keys.zones],
  zone: [keys.zones, keys.pools, keys.nodes, keys.queues, keys.flavors],
  host: [keys.hosts, keys.zones],
  // A runtime is built by work, and kept by work that has it.
  workload: [keys.workloads, keys.runtimes],
  runtime: [keys.runtimes],
  secret: [keys.mySecrets],
  setting: [keys.settings, keys.checklist, keys.loginOptions],
};

export function keysOfKind(kind: string): readonly QueryKey[] {
  // Whatever changes is also an entry of the audit log, which sends no events of its own.
  return [...(touched[kind] ?? [[kind]]), keys.audit];
}
