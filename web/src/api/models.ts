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
export type TokenScope = Schemas['Token']['scopes'][number];
export type RegistrationSettings = Schemas['RegistrationSettings'];
export type Role = Schemas['Role'];
export type Runtime = Schemas['Runtime'];
export type RuntimePreset = Schemas['RuntimePreset'];
export type Secret = Schemas['Secret'];
export type Session = Schemas['Session'];
export type SshKey = Schemas['SshKey'];
export type System = Schemas['System'];
export type Token = Schemas['Token'];
export type User = Schemas['User'];
export type ChangedQueues = Schemas['ChangedQueues'];
export type ClusterNode = Schemas['Node'];
export type Device = Schemas['Device'];
export type Flavor = Schemas['Flavor'];
export type Pool = Schemas['Pool'];
export type Queue = Schemas['Queue'];
export type QueueEffect = Schemas['QueueEffect'];
export type QueueWarning = Schemas['QueueWarning'];
export type Queues = Schemas['Queues'];
export type Resource = Schemas['Resource'];
export type Verdict = Schemas['Verdict'];
export type Workload = Schemas['Workload'];
export type WorkloadAction = Schemas['ActOn']['action'];
export type WorkloadDetail = Schemas['WorkloadDetail'];
export type WorkloadState = Schemas['State'];
