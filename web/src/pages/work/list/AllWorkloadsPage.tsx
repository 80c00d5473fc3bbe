import { WorkloadsPage } from './WorkloadsPage';

export default function AllWorkloadsPage() {
  return <WorkloadsPage />;
}
