import { useTranslation } from 'react-i18next';
import type { AuditEntry } from '../../api/models';
import { useActionWords } from '../../components/action-words';
import { usePermissionWords } from '../../components/permission-words';
import { useFormat } from '../../i18n/format';
import { usePlaces } from '../organisation/places';

/** Entries of the audit log in words; what the catalogue does not know yet shows as it was recorded. */
export function useAuditWords() {
  const { t, i18n } = useTranslation();
  const action = useActionWords();
  const permission = usePermissionWords();
  const { moment } = useFormat();
  const { find, crumb } = usePlaces();
  const known = (key: string, fallback: string): string =>
    i18n.exists(key) ? (t as unknown as (key: string) => string)(key) : fallback;
  const one = (field: string, value: unknown): string => {
    if (value === null || value === undefined || value === '') return t('audit.noValue');
    if (typeof value === 'boolean') return t(value ? 'audit.yes' : 'audit.no');
    if (typeof value !== 'string' && typeof value !== 'number') return JSON.stringify(value);
    const text = String(value);
    if (field === 'permissions' || field === 'scopes')
      return text === '*' ? t('profile.tokens.everything') : permission(text);
    if (field === 'state') return known(`state.${text}`, text);
    if (/_id$/.test(field) && find(text)) return crumb(text);
    if (/_at$/.test(field) || field === 'since' || field === 'until')
      return Number.isNaN(Date.parse(text)) ? text : moment(text);
    return text;
  };
  return {
    action,
    actionTitle: (key: string) => {
      const words = action(key);
      return words.charAt(0).toUpperCase() + words.slice(1);
    },
    kind: (kind: string) => known(`audit.kind.${kind}`, kind),
    field: (field: string) => known(`audit.field.${field}`, field),
    value: one,
    who: (entry: AuditEntry) =>
      entry.actor_name || (entry.via.startsWith('system') ? t('audit.corral') : t('audit.nobody')),
    /** Where it belonged; an organisation that is gone has only its id left. */
    where: (entry: AuditEntry) =>
      entry.organisation_id
        ? find(entry.organisation_id)
          ? crumb(entry.organisation_id)
          : t('audit.goneOrganisation')
        : '',
    on: (entry: AuditEntry) => entry.object_name || known(`audit.kind.${entry.object_kind}`, entry.object_kind),
    via: (entry: AuditEntry) => known(`audit.via.${entry.via.split(':')[0] ?? ''}`, entry.via),
  };
}
