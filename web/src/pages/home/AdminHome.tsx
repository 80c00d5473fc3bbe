import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { organisationsQuery } from '../../api/organisations';
import { hasPermission, useSession } from '../../api/session';
import { checklistQuery, peopleSummaryQuery } from '../../api/platform';
import { AsCommand } from '../../components/AsCommand';
import { AnswerLine, Page, Section } from '../../components/Page';
import { SkeletonAnswer } from '../../components/States';
import { useUrlState } from '../../shell/url-state';
import { pages } from '../registry';
import { Checklist } from './Checklist';
import { useChecklistWords } from './checklist-words';
import { LastChanges } from './LastChanges';
import { Machine } from './Machine';
import { NameOrganisation } from './NameOrganisation';

/** What the installation still needs, what this machine has, what changed last. */
export function AdminHome() {
  const { t } = useTranslation();
  const session = useSession();
  const [{ edit }, change] = useUrlState();
  const setNaming = (open: boolean) => change({ edit: open ? 'name' : undefined });
  const auditPage = pages.find((page) => page.key === 'auditLog');
  return (
    <Page
      title={t('menu.home')}
      live
      scoped
      answer={<Answer />}
      actions={<AsCommand cli="corral settings checklist" api="GET /api/v1/checklist" />}
      rail={hasPermission(session, 'system.read') && <Machine />}
      panel={edit === 'name' && <NameOrganisation onClose={() => setNaming(false)} />}
    >
      <Section title={t('home.admin.checklist')} note={t('home.admin.checklistNote')}>
        <Checklist onNameOrganisation={() => setNaming(true)} />
      </Section>
      {hasPermission(session, 'audit.read') && (
        <Section
          title={t('home.admin.changes')}
          aside={auditPage && <Link to={auditPage.path}>{t('home.admin.allChanges')}</Link>}
        >
          <LastChanges />
        </Section>
      )}
    </Page>
  );
}

function Answer() {
  const { t } = useTranslation();
  const words = useChecklistWords();
  const { data: checklist, error } = useQuery(checklistQuery);
  const { data: people } = useQuery(peopleSummaryQuery);
  const { data: organisations } = useQuery(organisationsQuery);
  if (error) return null; // The checklist below says what is wrong.
  if (!checklist) return <SkeletonAnswer />;
  const open = checklist.items.filter((item) => !item.done);
  const [next] = open;
  if (next) {
    return (
      <AnswerLine consequence={t('home.admin.next', { step: words(next.key).title })}>
        {t('home.admin.left', {
          count: open.length,
          done: checklist.items.length - open.length,
          total: checklist.items.length,
        })}
      </AnswerLine>
    );
  }
  const counts =
    people && organisations
      ? t('home.admin.people', {
          people: t('home.admin.peopleCount', { count: people.people }),
          organisations: t('home.admin.organisationsCount', { count: organisations.length }),
        })
      : undefined;
  return <AnswerLine consequence={counts}>{t('home.admin.ready')}</AnswerLine>;
}
