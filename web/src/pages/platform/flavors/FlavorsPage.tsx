import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Flavor } from '../../../api/models';
import { useMay } from '../../../api/session';
import { LatestVersion } from '../../../components/LatestVersion';
import { AsCommand } from '../../../components/AsCommand';
import { DataTable, WIDE } from '../../../components/DataTable';
import { PlusIcon } from '../../../components/icons';
import { ConfirmByName } from '../../../components/Modals';
import { AnswerLine, Page } from '../../../components/Page';
import { EmptyState, ErrorState, SkeletonAnswer } from '../../../components/States';
import { StatusChip } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import { useAmounts } from '../../cluster/amounts';
import '../../cluster/cluster.css';
import '../../organisation/organisation.css';
import { usePlaces } from '../../organisation/places';
import { useFlavorLack } from '../../work/never-words';
import { useFlavorDescription } from './description';
import { FlavorForm } from './FlavorForm';
import { useGpuWords } from './gpu';

const flavorsQuery = queryOptions({
  queryKey: keys.flavors,
  queryFn: () => body(client.GET('/api/v1/flavors')),
});

/** What people choose from when they start something, and who may choose it. */
export default function FlavorsPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const queries = useQueryClient();
  const manages = useMay()('flavors.manage');
  const [url, change] = useUrlState();
  const flavors = useQuery(flavorsQuery);
  const items = flavors.data?.items;
  const kinds = flavors.data?.kinds ?? [];
  const [deleting, setDeleting] = useState<Flavor | null>(null);
  const shown = items?.find((flavor) => flavor.id === url.flavor);
  const close = () => change({ flavor: undefined, edit: undefined });
  // One that fits on no node stays open, with its warning.
  const done = (made: Flavor) => change({ flavor: made.lack ? made.id : undefined, edit: undefined });
  // The form begins with an organisation, so it waits for them.
  const { loading } = usePlaces();
  const panel = loading ? null : url.edit === 'new' && manages ? (
    <FlavorForm key="new" kinds={kinds} changed={null} onDone={done} onClose={close} onDelete={undefined} />
  ) : shown ? (
    <LatestVersion of={shown}>
      {(flavor) => (
        <FlavorForm kinds={kinds} changed={flavor} onDone={done} onClose={close} onDelete={() => setDeleting(flavor)} />
      )}
    </LatestVersion>
  ) : null;
  return (
    <Page
      title={t('menu.flavors')}
      crumbs={[{ title: t('menu.platform') }]}
      answer={flavors.error ? null : <Answer flavors={items} />}
      actions={
        <>
          {!phone && <AsCommand cli="corral flavor list" api="GET /api/v1/flavors" />}
          {manages && (
            <Button type="primary" icon={<PlusIcon />} onClick={() => change({ edit: 'new', flavor: undefined })}>
              {t('flavors.new')}
            </Button>
          )}
        </>
      }
      panel={panel}
    >
      {flavors.error ? (
        <ErrorState error={flavors.error} what={t('menu.flavors')} onRetry={() => void flavors.refetch()} />
      ) : (
        <FlavorTable
          flavors={items}
          narrow={panel !== null}
          openId={shown?.id ?? null}
          onOpen={(id) => change({ flavor: id, edit: undefined })}
        />
      )}
      <ConfirmByName
        open={deleting !== null}
        title={t('flavors.deleteTitle', { name: deleting?.name })}
        text={t('flavors.deleteText')}
        name={deleting?.name}
        action={t('flavors.delete')}
        keep={t('flavors.keep')}
        onConfirm={async () => {
          if (!deleting) return;
          await body(
            client.DELETE('/api/v1/flavors/{flavor_id}', {
              params: { path: { flavor_id: deleting.id }, header: ifMatch(deleting) },
            }),
          );
          close();
          await queries.invalidateQueries({ queryKey: keys.flavors });
        }}
        onClose={() => setDeleting(null)}
      />
    </Page>
  );
}

function Answer({ flavors }: { flavors: Flavor[] | undefined }) {
  const { t } = useTranslation();
  if (!flavors) return <SkeletonAnswer />;
  const off = flavors.filter((flavor) => !flavor.enabled).length;
  const nowhere = flavors.filter((flavor) => flavor.enabled && flavor.lack).length;
  const consequence =
    nowhere > 0
      ? t('flavors.nowhere', { count: nowhere })
      : off > 0
        ? t('flavors.off', { count: off })
        : flavors.some((flavor) => flavor.preset)
          ? t('flavors.fromMachine')
          : undefined;
  return (
    <AnswerLine consequence={consequence}>
      {t('flavors.answer', { count: flavors.length, gpu: flavors.filter((flavor) => flavor.gpu !== null).length })}
    </AnswerLine>
  );
}

function FlavorTable({
  flavors,
  narrow,
  openId,
  onOpen,
}: {
  flavors: Flavor[] | undefined;
  narrow: boolean;
  openId: string | null;
  onOpen: (id: string) => void;
}) {
  const { t } = useTranslation();
  const { plain, gib } = useAmounts();
  const { sentences } = useFormat();
  const gpu = useGpuWords();
  const description = useFlavorDescription();
  const lackOf = useFlavorLack();
  const told = (flavor: Flavor) => sentences([lackOf(flavor), description(flavor)]);
  const places = (flavor: Flavor) => flavor.organisations.map((one) => one.name).join(t('people.comma'));
  const state = (flavor: Flavor) => {
    if (!flavor.enabled) return <StatusChip state="disabled" />;
    return flavor.lack ? <StatusChip state="infeasible" /> : <StatusChip state="active" word={t('flavors.enabled')} />;
  };
  return (
    <DataTable<Flavor>
      label={t('menu.flavors')}
      rows={flavors}
      skeletonRows={6}
      empty={
        <EmptyState
          title={t('flavors.none')}
          text={t('flavors.noneText')}
          command="corral flavor create gpu-8g --cpu 4 --memory 32Gi --gpu 8Gi"
        />
      }
      openId={openId}
      onOpen={(flavor) => onOpen(flavor.id)}
      columns={[
        {
          title: t('flavors.flavor'),
          width: '18%',
          render: (_, flavor) => <span className="strong">{flavor.name}</span>,
        },
        { title: t('flavors.gpus'), width: 132, render: (_, flavor) => gpu(flavor.gpu) },
        {
          title: t('flavors.cpus'),
          align: 'right',
          width: 76,
          render: (_, flavor) => plain(flavor.cpu_milli, 'cpu_milli'),
        },
        {
          title: t('flavors.memory'),
          align: 'right',
          width: 100,
          render: (_, flavor) => <span className="nowrap">{gib(flavor.memory_mib)}</span>,
        },
        ...(narrow
          ? []
          : [
              {
                title: t('flavors.for'),
                ellipsis: true,
                width: '16%',
                responsive: WIDE,
                render: (_: unknown, flavor: Flavor) => <span className="text-2">{places(flavor)}</span>,
              },
              {
                title: t('flavors.description'),
                ellipsis: true,
                render: (_: unknown, flavor: Flavor) => (
                  <span className="text-2" title={told(flavor)}>
                    {told(flavor)}
                  </span>
                ),
              },
            ]),
        { title: t('flavors.state'), width: 112, render: (_, flavor) => state(flavor) },
      ]}
      phoneRow={(flavor) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 20 }}>
            <span className="strong grow">{flavor.name}</span>
            {state(flavor)}
          </div>
          <div className="small text-2">
            {t('flavors.sizes', { cpus: plain(flavor.cpu_milli, 'cpu_milli'), memory: gib(flavor.memory_mib) })}
            {flavor.gpu ? t('people.comma') + gpu(flavor.gpu) : ''}
          </div>
          <div className="small text-2">{told(flavor)}</div>
          <div className="small text-2">{places(flavor)}</div>
        </div>
      )}
    />
  );
}
