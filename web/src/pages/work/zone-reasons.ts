/** Why Corral, or somebody, chose a zone for new work. */
const choices = ['named', 'only', 'fits', 'earliest', 'possible', 'first'] as const;

export type ZoneChoice = (typeof choices)[number];
/** Why work is in its zone: it was chosen, or the work was moved there while it waited. */
export type ZoneReason = ZoneChoice | 'moved';

export const isChoice = (reason: string | null | undefined): reason is ZoneChoice =>
  choices.some((one) => one === reason);

export const isZoneReason = (reason: string | null | undefined): reason is ZoneReason =>
  reason === 'moved' || isChoice(reason);
