import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { checklistQuery } from '../../api/platform';
import { ErrorState, SkeletonRows } from '../../components/States';
import { StatusChip } from '../../components/StatusChip';
import { useGo } from '../../shell/go';
import { pages } from '../registry';
import { useChecklistWords } from './checklist-words';

/** The page on which a step is done, with the place on it. */
const places: Record<string, { page: string; href: string }> = {
  password: { page: 'profile', href: '/profile' },
  people: { page: 'people', href: '/people' },
  second_administrator: { page: 'people', href: '/people' },
  mail: { page: 'settings', href: '/settings' },
};

/** The first day's steps, each with the button that does or tests it. */
export function Checklist({ onNameOrganisation }: { onNameOrganisation: () => void }) {
  const { t } = useTranslation();
  const go = useGo();
  const words = useChecklistWords();
  const checklist = useQuery(checklistQuery);
  if (checklist.error)
    return (
      <ErrorState error={checklist.error} what={t('home.admin.checklist')} onRetry={() => void checklist.refetch()} />
    );
  if (!checklist.data) return <SkeletonRows rows={5} height={56} />;

  const doIt = (key: string): (() => void) | null => {
    if (key === 'organisation') return onNameOrganisation;
    const place = places[key];
    return place && pages.some((page) => page.key === place.page) ? () => go(place.href) : null;
  };
  return (
    <ul>
      {checklist.data.items.map(({ key, done }) => {
        const { title, text, action } = words(key);
        const act = doIt(key);
        return (
          <li key={key} className="row step">
            <span className="step-state">
              <StatusChip state={done ? 'done' : 'todo'} />
            </span>
            <div className="grow">
              <div className="strong">{title}</div>
              <div className="small text-2">{text}</div>
            </div>
            {!done && act && action && (
              <Button size="small" onClick={act}>
                {action}
              </Button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
