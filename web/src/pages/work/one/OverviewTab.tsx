import type { WorkloadDetail } from '../../../api/models';
import { isExplained } from '../states';
import { TimeView } from './TimeView';
import { WhyWaiting } from './WhyWaiting';

export function OverviewTab({ work }: { work: WorkloadDetail }) {
  const explained = isExplained(work);
  return (
    <>
      {explained && <WhyWaiting work={work} />}
      <TimeView work={work} />
    </>
  );
}
