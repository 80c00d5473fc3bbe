import type { components } from './schema';

type Schemas = components['schemas'];

export type User = Schemas['User'];
export type Session = Schemas['Session'];
export type Organisation = Schemas['Organisation'];
export type LoginOptions = Schemas['LoginOptions'];

export type Permission =
  | 'organisations.read' | 'organisations.manage'
  | 'people.read' | 'people.invite' | 'people.manage'
  | 'roles.read' | 'roles.manage' | 'roles.grant'
  | 'audit.read' | 'settings.read' | 'settings.manage' | 'system.read';
export type MySession = Schemas['MySession'];
export type Token = Schemas['Token'];
export type SshKey = Schemas['SshKey'];
