import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { organisationsQuery, organisationTree, type OrganisationNode } from '../../../api/organisations';
import type { Organisation } from '../../../api/models';
import { useMay } from '../../../api/session';
import { AsCommand } from '../../../components/AsCommand';
import { PlusIcon } from '../../../components/icons';
import { AnswerLine, Page } from '../../../components/Page';
import { EmptyState, ErrorState, SkeletonAnswer } from '../../../components/States';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../organisation.css';
import { usePlaces } from '../places';
import { ChangeOrganisation } from './ChangeOrganisation';
import { DeleteOrganisation } from './DeleteOrganisation';
import { NewOrganisation } from './NewOrganisation';
import { OrganisationPanel } from './OrganisationPanel';
import { OrganisationTree, type RowAct } from './OrganisationTree';

/** The tree of organisations: who belongs where, and how it grows. */
export default function OrganisationsPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const manages = useMay()('organisations.manage');
  const [url, change] = useUrlState();
  const { find } = usePlaces();
  const organisations = useQuery(organisationsQuery);
  const [deleting, setDeleting] = useState<Organisation | null>(null);
  const shown = find(url.node);
  const editable = manages && !phone;
  const close = () => change({ node: undefined, act: undefined });
  const act = (what: RowAct, organisation: Organisation) => {
    if (what === 'delete') setDeleting(organisation);
    else change({ node: organisation.id, act: what });
  };
  return (
    <Page
      title={t('menu.organisations')}
      crumbs={[{ title: t('menu.organisation') }]}
      answer={organisations.error ? null : <Answer tree={organisations.data && organisationTree(organisations.data)} />}
      actions={
        !phone && (
          <>
            <AsCommand cli="corral org list" api="GET /api/v1/organisations" />
            {manages && (
              <Button
                type="primary"
                icon={<PlusIcon />}
                onClick={() => change({ node: shown?.id ?? organisations.data?.[0]?.id, act: 'add' })}
              >
                {t('organisations.new')}
              </Button>
            )}
          </>
        )
      }
      panel={
        !shown ? null : editable && url.act === 'add' ? (
          <NewOrganisation
            key={`below ${shown.id}`}
            parent={shown.id}
            onMade={(id) => change({ node: id, act: undefined })}
            onClose={() => change({ act: undefined })}
          />
        ) : editable && (url.act === 'rename' || url.act === 'move') ? (
          <ChangeOrganisation
            key={`${url.act} ${shown.id}`}
            kind={url.act}
            organisation={shown}
            onClose={() => change({ act: undefined })}
          />
        ) : (
          <OrganisationPanel
            key={shown.id}
            organisation={shown}
            editable={editable}
            onAct={(what) => act(what, shown)}
            onClose={close}
          />
        )
      }
    >
      {phone && manages && <p className="effect">{t('organisations.viewOnly')}</p>}
      {organisations.error ? (
        <ErrorState
          error={organisations.error}
          what={t('menu.organisations')}
          onRetry={() => void organisations.refetch()}
        />
      ) : (
        <OrganisationTree
          organisations={organisations.data}
          openId={url.node ?? null}
          onOpen={(id) => change({ node: id, act: undefined })}
          onAct={editable ? act : undefined}
        />
      )}
      {organisations.data?.length === 1 && editable && (
        <EmptyState
          title={t('organisations.onlyRoot')}
          text={t('organisations.onlyRootText')}
          command='corral org create "Vision Lab"'
          actions={
            <Button type="primary" onClick={() => change({ node: organisations.data?.[0]?.id, act: 'add' })}>
              {t('organisations.new')}
            </Button>
          }
        />
      )}
      <DeleteOrganisation organisation={deleting} onClose={() => setDeleting(null)} onDeleted={close} />
    </Page>
  );
}

function Answer({ tree }: { tree: OrganisationNode[] | undefined }) {
  const { t } = useTranslation();
  if (!tree) return <SkeletonAnswer />;
  const all = everyNode(tree);
  const levels = Math.max(0, ...all.map((node) => node.depth + 1));
  const empty = all.filter((node) => node.people_count === 0 && node.children.length === 0).length;
  const largest = [...all].sort((a, b) => b.people_count - a.people_count)[0];
  const consequence =
    empty > 0
      ? t('organisations.empty', { count: empty })
      : largest && largest.people_count > 0
        ? t('organisations.largest', { name: largest.name, count: largest.people_count })
        : undefined;
  return (
    <AnswerLine consequence={consequence}>
      {t('organisations.answer', { count: all.length, levels: t('organisations.levels', { count: levels }) })}
    </AnswerLine>
  );
}

const everyNode = (tree: readonly OrganisationNode[]): OrganisationNode[] =>
  tree.flatMap((node) => [node, ...everyNode(node.children)]);
