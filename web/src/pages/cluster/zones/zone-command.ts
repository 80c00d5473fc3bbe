import { shellQuoted } from '../../work/shell-words';

export const addZoneCommand = (name: string, nodes: string): string =>
  `corral zone add ${shellQuoted(name)} --simulated ${shellQuoted(nodes)}`;

const LISTS = { zones: 'zone', nodes: 'node', devices: 'device', pools: 'pool' } as const;

/** A tab of the page as a command and as a call. */
export function listCommand(
  tab: keyof typeof LISTS,
  zone: { id: string; name: string } | undefined,
): { cli: string; api: string } {
  const narrowed = tab === 'zones' ? undefined : zone;
  return {
    cli: `corral ${LISTS[tab]} list${narrowed ? ` --zone ${shellQuoted(narrowed.name)}` : ''}`,
    api: `GET /api/v1/${tab}${narrowed ? `?zone=${narrowed.id}` : ''}`,
  };
}
