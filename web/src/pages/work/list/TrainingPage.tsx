import { WorkloadsPage } from './WorkloadsPage';

export default function TrainingPage() {
  return <WorkloadsPage page="training" kind="training" />;
}
