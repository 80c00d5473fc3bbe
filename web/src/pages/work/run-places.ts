import { useMe } from '../../api/session';
import { usePlaces } from '../organisation/places';

/** Where one may run work: whether there is a choice, and what one usually means. */
export function useRunPlaces(): { several: boolean; home: string | undefined; loading: boolean } {
  const me = useMe();
  const { nodes, heldOn, loading } = usePlaces();
  const mayRun = ({ id }: { id: string }) => heldOn(id).has('workloads.run');
  return {
    several: nodes.filter(mayRun).length > 1,
    home: (me.organisations.find(mayRun) ?? nodes.find(mayRun))?.id,
    loading,
  };
}
