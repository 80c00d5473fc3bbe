/** Why Corral, or somebody, put work into its zone. */
const reasons = ['named', 'only', 'fits', 'earliest', 'possible', 'first'] as const;

export type ZoneReason = (typeof reasons)[number];

export const isChoice = (reason: string | null | undefined): reason is ZoneReason =>
  reasons.some((one) => one === reason);
