import type { components } from './schema';

/** The server's shapes under their own names. */
type Schemas = components['schemas'];

export type AuditEntry = Schemas['AuditEntry'];
export type Invitation = Schemas['Invitation'];
export type JoinCode = Schemas['JoinCode'];
export type LoginOptions = Schemas['LoginOptions'];
export type MailSettings = Schemas['MailSettings'];
export type OpenSession = Schemas['OpenSession'];
export type Organisation = Schemas['Organisation'];
export type Permission = Schemas['Permission'];
export type RegistrationSettings = Schemas['RegistrationSettings'];
export type Role = Schemas['Role'];
export type Session = Schemas['Session'];
export type SshKey = Schemas['SshKey'];
export type System = Schemas['System'];
export type Token = Schemas['Token'];
export type User = Schemas['User'];
