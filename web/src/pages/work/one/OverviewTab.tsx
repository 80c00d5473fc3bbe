import type { WorkloadDetail } from '../../../api/models';
import { isWaiting } from '../states';
import { TimeView } from './TimeView';
import { WhyWaiting } from './WhyWaiting';

export function OverviewTab({ work }: { work: WorkloadDetail }) {
  const waits = (isWaiting(work.state) || work.state === 'infeasible') && work.wanted === 'run';
  return (
    <>
      {waits && <WhyWaiting work={work} />}
      <TimeView work={work} />
    </>
  );
}
