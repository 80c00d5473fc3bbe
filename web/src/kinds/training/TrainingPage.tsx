import { WorkloadsPage } from '../../pages/work/list/WorkloadsPage';
import { training } from '.';

export default function TrainingPage() {
  return <WorkloadsPage plug={training} />;
}
