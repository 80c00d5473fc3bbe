import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { nextPage } from '../../../api/next-page';
import { useMay } from '../../../api/session';
import { AsCommand } from '../../../components/AsCommand';
import { PlusIcon } from '../../../components/icons';
import { AnswerLine, Page } from '../../../components/Page';
import { ErrorState, SkeletonAnswer } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { useLookingAt } from '../../../shell/looking-at';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../organisation.css';
import { peopleQuery, summaryQuery } from '../queries';
import { BulkBar } from './BulkBar';
import { commandOf, usePeopleFilters } from './filters';
import { InvitePanel } from './InvitePanel';
import { NobodyMatches, TeachInviting } from './NobodyHere';
import { PeopleFilterBar } from './PeopleFilterBar';
import { PeopleTable } from './PeopleTable';
import { PersonPanel } from './PersonPanel';
import { useInvitedRows } from './rows';

/** Who may do what: everyone one may see, with roles, where they belong and who is invited. */
export default function PeoplePage() {
  const { t } = useTranslation();
  const may = useMay();
  const phone = usePhone();
  const [url, changeUrl] = useUrlState();
  const { filters, invited, narrowed } = usePeopleFilters();
  const people = useInfiniteQuery({ ...peopleQuery(filters), enabled: !invited });
  const { data: summary } = useQuery(summaryQuery(filters.organisation));
  const lookName = useLookingAt().organisation?.name;
  const invitations = useInvitedRows();
  const [chosen, setChosen] = useState<readonly string[]>([]);

  const persons = invited ? [] : people.data?.pages.flatMap((page) => page.items);
  const complete = invited || (people.data !== undefined && !people.hasNextPage);
  const rows = persons && [...persons.map((user) => ({ id: user.id, user })), ...(complete ? invitations : [])];
  const open = (id: string) => changeUrl({ person: id, panel: undefined });
  const invite = (panel: string | undefined) => changeUrl({ panel, person: undefined });
  const selected = persons?.filter((user) => chosen.includes(user.id)) ?? [];
  const alone =
    !narrowed &&
    summary !== undefined &&
    summary.people <= 1 &&
    summary.open_invitations + summary.open_join_codes === 0;
  const panel = url.person ? (
    <PersonPanel key={url.person} id={url.person} onClose={() => changeUrl({ person: undefined })} />
  ) : url.panel && may('people.invite') ? (
    <InvitePanel kind={url.panel} onKind={invite} onClose={() => invite(undefined)} />
  ) : null;
  return (
    <Page
      title={t('menu.people')}
      crumbs={[{ title: t('menu.organisation') }]}
      answer={<Answer organisation={filters.organisation} />}
      actions={
        <>
          {!phone && <AsCommand {...commandOf(filters, lookName)} />}
          {may('roles.read') && !phone && (
            <Link to="/roles">
              <Button>{t('menu.roles')}</Button>
            </Link>
          )}
          {may('people.manage') && (
            <Link to="/people/import">
              <Button block>{t('people.import.title')}</Button>
            </Link>
          )}
          {may('people.invite') && (
            <Button type="primary" icon={<PlusIcon />} onClick={() => invite('link')}>
              {t('people.invite.title')}
            </Button>
          )}
        </>
      }
      panel={panel}
      foot={!phone && selected.length > 0 && <BulkBar people={selected} onDone={() => setChosen([])} />}
    >
      <PeopleFilterBar />
      {people.error ? (
        <ErrorState error={people.error} what={t('menu.people')} onRetry={() => void people.refetch()} />
      ) : (
        <PeopleTable
          rows={rows}
          narrow={panel !== null}
          sort={filters.sort}
          onSort={(sort) => changeUrl({ sort })}
          openId={url.person ?? null}
          onOpen={open}
          onInvitation={() => invite('open')}
          chosen={may('people.manage') ? chosen : undefined}
          onChoose={setChosen}
          empty={<NobodyMatches />}
          more={
            people.hasNextPage && !invited
              ? { load: () => void nextPage(people), loading: people.isFetchingNextPage }
              : undefined
          }
        />
      )}
      {alone && may('people.invite') && <TeachInviting onCode={() => invite('code')} />}
    </Page>
  );
}

function Answer({ organisation }: { organisation: string | undefined }) {
  const { t } = useTranslation();
  const { sentences } = useFormat();
  const { data, error } = useQuery(summaryQuery(organisation));
  if (error) return null; // The list below says what is wrong.
  if (!data) return <SkeletonAnswer />;
  const waiting = [
    data.pending > 0 && t('people.pending', { count: data.pending }),
    data.open_invitations > 0 && t('people.openInvitations', { count: data.open_invitations }),
    data.open_join_codes > 0 && t('people.openCodes', { count: data.open_join_codes }),
  ].filter((one) => one !== false);
  return (
    <AnswerLine consequence={waiting[0] ?? t('people.nothingOpen')} detail={sentences(waiting.slice(1))}>
      {t('people.answer', { people: t('people.count', { count: data.people }), more: data.with_more_than_user_role })}
    </AnswerLine>
  );
}
