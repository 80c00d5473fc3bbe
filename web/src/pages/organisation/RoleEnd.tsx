import { useTranslation } from 'react-i18next';
import type { Permission } from '../../api/models';
import { useFormat } from '../../i18n/format';
import { usePlaces } from './places';
import { useRoles } from './roles-known';

/** Until when one could give this role there, with `more` permissions that doing so needs; null without an end. */
export function useRoleEnd(
  role: string | undefined,
  organisation: string | undefined,
  more: readonly Permission[] = [],
): string | null {
  const { until } = usePlaces();
  const { roles } = useRoles();
  const found = roles?.find((one) => one.id === role);
  return found && organisation ? until([...found.permissions, ...more], organisation) : null;
}

/** One sentence for whoever holds for a time what they are about to give. */
export function RoleEnd({ role, organisation }: { role: string | undefined; organisation: string | undefined }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const end = useRoleEnd(role, organisation);
  return end && <p className="effect">{t('people.endsWithYours', { time: moment(end) })}</p>;
}

/** The hours that were chosen, or nothing where one may not offer it for so long: then it works until one's own end. */
export function hoursWithin(hours: number, end: string | null): number | undefined {
  return end !== null && Date.now() + hours * 3_600_000 > Date.parse(end) ? undefined : hours;
}
