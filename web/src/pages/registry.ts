import type { ComponentType } from 'react';
import type { Permission } from '../api/models';
import { kinds } from '../kinds';

/** The groups of the left menu, in their order. Home stands above them without a heading. */
export const groups = ['top', 'work', 'data', 'cluster', 'organisation', 'platform'] as const;

export interface PageEntry {
  /** Names the page in the catalogues: menu.<key>. */
  key:
    | 'home'
    | 'training'
    | 'launchTraining'
    | 'allWorkloads'
    | 'workload'
    | 'openApp'
    | 'runtimes'
    | 'secrets'
    | 'queues'
    | 'zonesAndNodes'
    | 'hosts'
    | 'flavors'
    | 'people'
    | 'importPeople'
    | 'organisations'
    | 'roles'
    | 'auditLog'
    | 'settings'
    | 'profile';
  path: string;
  /** Where it stands in the left menu; pages without a group are reached from elsewhere. */
  group?: (typeof groups)[number];
  /** Needed on at least one organisation; without it the page is not in the menu and answers 403. */
  permission?: Permission;
  load: () => Promise<{ default: ComponentType }>;
}

/** Every page inside the shell: routes, left menu and command palette are made from this list. */
export const pages: readonly PageEntry[] = [
  { key: 'home', path: '/', group: 'top', load: () => import('./home/HomePage') },
  ...kinds.flatMap((kind) => kind.pages),
  { key: 'allWorkloads', path: '/workloads', group: 'work', load: () => import('./work/list/AllWorkloadsPage') },
  { key: 'workload', path: '/workloads/$workloadId', load: () => import('./work/one/WorkloadPage') },
  { key: 'openApp', path: '/open/$workloadId', load: () => import('./work/OpenAppPage') },
  {
    key: 'runtimes',
    path: '/runtimes',
    group: 'data',
    permission: 'workloads.run',
    load: () => import('./data/runtimes/RuntimesPage'),
  },
  {
    key: 'secrets',
    path: '/secrets',
    group: 'data',
    permission: 'workloads.run',
    load: () => import('./data/secrets/SecretsPage'),
  },
  {
    key: 'queues',
    path: '/queues',
    group: 'cluster',
    permission: 'queues.read',
    load: () => import('./cluster/queues/QueuesPage'),
  },
  {
    key: 'zonesAndNodes',
    path: '/nodes',
    group: 'cluster',
    permission: 'zones.read',
    load: () => import('./cluster/zones/ZonesPage'),
  },
  {
    key: 'hosts',
    path: '/hosts',
    group: 'cluster',
    permission: 'system.read',
    load: () => import('./cluster/hosts/HostsPage'),
  },
  {
    key: 'people',
    path: '/people',
    group: 'organisation',
    permission: 'people.read',
    load: () => import('./organisation/people/PeoplePage'),
  },
  {
    key: 'importPeople',
    path: '/people/import',
    permission: 'people.manage',
    load: () => import('./organisation/people/ImportPage'),
  },
  {
    key: 'organisations',
    path: '/organisations',
    group: 'organisation',
    permission: 'organisations.read',
    load: () => import('./organisation/organisations/OrganisationsPage'),
  },
  {
    key: 'roles',
    path: '/roles',
    group: 'organisation',
    permission: 'roles.read',
    load: () => import('./organisation/roles/RolesPage'),
  },
  {
    key: 'flavors',
    path: '/flavors',
    group: 'platform',
    permission: 'flavors.read',
    load: () => import('./platform/flavors/FlavorsPage'),
  },
  {
    key: 'auditLog',
    path: '/audit',
    group: 'platform',
    permission: 'audit.read',
    load: () => import('./security/AuditPage'),
  },
  {
    key: 'settings',
    path: '/settings',
    group: 'platform',
    permission: 'settings.read',
    load: () => import('./settings/SettingsPage'),
  },
  { key: 'profile', path: '/profile', load: () => import('./profile/ProfilePage') },
];
