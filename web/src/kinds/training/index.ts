import { TrainingIcon } from '../../components/icons';
import type { KindPlug } from '../plug';

const LAUNCH = '/training/launch';

/** A command with its files, run to its end. */
export const training: KindPlug = {
  kind: 'training',
  name: 'work.kind.training',
  icon: TrainingIcon,
  home: { path: '/training', name: 'menu.training' },
  pages: [
    { key: 'training', path: '/training', group: 'work', load: () => import('./TrainingPage') },
    {
      key: 'launchTraining',
      path: LAUNCH,
      permission: 'workloads.run',
      load: () => import('./launch/LaunchPage'),
    },
  ],
  launch: { path: LAUNCH, name: 'menu.launchTraining' },
  idle: 'work.noTrainingRuns',
};
