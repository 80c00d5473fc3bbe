import type { WorkloadAction, WorkloadState } from '../../api/models';

/** In the order of a life. */
export const states = [
  'queued',
  'infeasible',
  'starting',
  'running',
  'suspending',
  'suspended',
  'stopping',
  'stopped',
  'succeeded',
  'failed',
] as const satisfies readonly WorkloadState[];

const ends = ['stopped', 'succeeded', 'failed', 'deleted'] as const satisfies readonly WorkloadState[];
export type Ended = (typeof ends)[number];

const over: ReadonlySet<WorkloadState> = new Set(ends);
const present: ReadonlySet<WorkloadState> = new Set(['starting', 'running', 'suspending', 'stopping']);

export const isOver = (state: WorkloadState): state is Ended => over.has(state);
export const isPresent = (state: WorkloadState): boolean => present.has(state);
export const isWaiting = (state: WorkloadState): boolean => state === 'queued' || state === 'suspended';
/** Wants to run and does not: there is a page that says why. */
export const isExplained = ({ state, wanted }: Lives): boolean =>
  (isWaiting(state) || state === 'infeasible') && wanted === 'run';

interface Lives {
  state: WorkloadState;
  wanted: 'run' | 'suspend' | 'stop';
}

/** What can be asked of it as it is now. */
export function actionsFor({ state, wanted }: Lives): WorkloadAction[] {
  if (state === 'deleted') return [];
  if (state === 'succeeded') return ['delete'];
  if (isOver(state)) return ['resume', 'delete'];
  if (state === 'stopping') return [];
  return [wanted === 'suspend' ? 'resume' : 'suspend', 'stop'];
}
