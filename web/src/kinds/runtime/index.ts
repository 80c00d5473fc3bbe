import { BuildIcon } from '../../components/icons';
import type { KindPlug } from '../plug';

/** The build of a runtime. Runtimes themselves stand under Data, where builds are started and followed. */
export const runtime: KindPlug = {
  kind: 'runtime',
  name: 'work.kind.runtime',
  icon: BuildIcon,
  home: { path: '/runtimes', name: 'menu.runtimes' },
  pages: [],
  // A build has one replica.
  without: ['replicas'],
};
