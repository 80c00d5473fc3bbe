import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { AuditEntry } from '../../api/models';
import { useActionWords } from '../../components/action-words';
import { Glyph } from '../../components/icons';
import { ErrorState, SkeletonRows } from '../../components/States';
import { useLookingAt } from '../../shell/looking-at';
import { useFormat } from '../../i18n/format';

const SHOWN = 8;

/** What one did with the own account: naming the person twice says nothing. */
const aboutSelf = ({ actor_id, object_id }: AuditEntry): boolean => actor_id === object_id;

/** The newest entries of the audit log: when, who, what, on what. */
export function LastChanges() {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const words = useActionWords();
  const { organisation } = useLookingAt();
  const query = { limit: SHOWN, organisation: organisation?.id };
  const entries = useQuery({
    queryKey: [...keys.audit, 'newest', query],
    queryFn: async () => (await body(client.GET('/api/v1/audit', { params: { query } }))).items,
  });
  if (entries.error)
    return <ErrorState error={entries.error} what={t('home.admin.changes')} onRetry={() => void entries.refetch()} />;
  if (!entries.data) return <SkeletonRows rows={SHOWN} height={33} />;
  if (entries.data.length === 0) return <p className="teach text-2">{t('home.admin.noChanges')}</p>;
  return (
    <ul>
      {entries.data.map((entry) => (
        <li key={entry.id} className="row change">
          <span className="small text-3 change-time">{moment(entry.at)}</span>
          <span className="grow">
            <span className="strong">{entry.actor_name || t('audit.nobody')}</span>{' '}
            <span className="text-2">{words(entry.action)}</span> {aboutSelf(entry) ? null : entry.object_name}
          </span>
          {entry.result === 'refused' && (
            <span className="chip amber">
              <Glyph name="cross" />
              {t('state.refused')}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
