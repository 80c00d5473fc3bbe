import type { Runtime } from '../../../api/models';
import type { ChipState } from '../../../components/StatusChip';

/** As work names it. */
export const labelOf = ({ name, version }: Pick<Runtime, 'name' | 'version'>): string => `${name}:${version}`;

export const chips: Record<Runtime['state'], ChipState> = {
  defined: 'todo',
  building: 'starting',
  ready: 'used',
  failed: 'failed',
};

/** The lines of a requirements file that say something. */
export const requirementsOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(/\r?\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter(Boolean);
