import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Runtime } from '../../../api/models';
import { AsCommand } from '../../../components/AsCommand';
import { PlusIcon } from '../../../components/icons';
import { ConfirmByName } from '../../../components/Modals';
import { AnswerLine, Page } from '../../../components/Page';
import { ErrorState, SkeletonAnswer } from '../../../components/States';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../../organisation/organisation.css';
import '../../work/work.css';
import '../data.css';
import { runtimesQuery } from '../queries';
import { Presets } from './Presets';
import { RuntimeForm } from './RuntimeForm';
import { RuntimePanel } from './RuntimePanel';
import { RuntimeTable } from './RuntimeTable';
import { labelOf } from './words';

/** The Python environments that one's work can have: what is in them, whether they are built, what uses them. */
export default function RuntimesPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const queries = useQueryClient();
  const [url, change] = useUrlState();
  const runtimes = useQuery(runtimesQuery);
  const [deleting, setDeleting] = useState<Runtime | null>(null);
  const rows = runtimes.data?.items;
  const shown = rows?.find((runtime) => runtime.id === url.runtime);
  const next = rows?.find((runtime) => runtime.id === url.like);
  const close = () => change({ runtime: undefined, edit: undefined, like: undefined });
  const open = (id: string) => change({ runtime: id, edit: undefined, like: undefined });
  const refresh = () => queries.invalidateQueries({ queryKey: keys.runtimes });
  const made = (runtime: Runtime) => void refresh().then(() => open(runtime.id));
  return (
    <Page
      title={t('menu.runtimes')}
      crumbs={[{ title: t('menu.data') }]}
      live
      answer={runtimes.error ? null : <Answer runtimes={rows} />}
      actions={
        <>
          {!phone && <AsCommand cli="corral runtime list" api="GET /api/v1/runtimes" />}
          <Button
            type="primary"
            icon={<PlusIcon />}
            onClick={() => change({ edit: 'new', runtime: undefined, like: undefined })}
          >
            {t('runtimes.new')}
          </Button>
        </>
      }
      panel={
        url.edit === 'new' && rows ? (
          <RuntimeForm key={next?.id ?? 'new'} like={next} runtimes={rows} onMade={made} onClose={close} />
        ) : shown ? (
          <RuntimePanel
            key={shown.id}
            runtime={shown}
            onClose={close}
            onChanged={() => void refresh()}
            onNext={() => change({ edit: 'new', like: shown.id, runtime: undefined })}
            onDelete={() => setDeleting(shown)}
          />
        ) : null
      }
    >
      {runtimes.error ? (
        <ErrorState error={runtimes.error} what={t('menu.runtimes')} onRetry={() => void runtimes.refetch()} />
      ) : (
        <>
          <RuntimeTable
            rows={rows}
            openId={shown?.id ?? null}
            narrow={shown !== undefined || url.edit === 'new'}
            onOpen={open}
          />
          {runtimes.data && <Presets presets={runtimes.data.presets} runtimes={runtimes.data.items} onMade={made} />}
        </>
      )}
      <ConfirmByName
        open={deleting !== null}
        title={t('runtimes.deleteTitle', { name: deleting ? labelOf(deleting) : '' })}
        text={t('runtimes.deleteText')}
        action={t('runtimes.delete')}
        keep={t('runtimes.keep')}
        onConfirm={async () => {
          await body(
            client.DELETE('/api/v1/runtimes/{runtime_id}', { params: { path: { runtime_id: deleting?.id ?? '' } } }),
          );
          close();
          await refresh();
        }}
        onClose={() => setDeleting(null)}
      />
    </Page>
  );
}

function Answer({ runtimes }: { runtimes: Runtime[] | undefined }) {
  const { t } = useTranslation();
  if (!runtimes) return <SkeletonAnswer />;
  if (runtimes.length === 0)
    return <AnswerLine consequence={t('runtimes.systemIsThere')}>{t('runtimes.answerNone')}</AnswerLine>;
  const of = (state: Runtime['state']) => runtimes.filter((runtime) => runtime.state === state).length;
  const troubles = [
    of('building') > 0 && t('runtimes.building', { count: of('building') }),
    of('failed') > 0 && t('runtimes.failed', { count: of('failed') }),
  ].filter((one) => typeof one === 'string');
  return (
    <AnswerLine consequence={troubles.length > 0 ? troubles.join(t('zones.andSo')) + t('launch.stop') : undefined}>
      {t('runtimes.answer', { count: of('ready') })}
    </AnswerLine>
  );
}
