import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Button, Form } from 'antd';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import { useMay } from '../../../api/session';
import { CopyButton } from '../../../components/Copy';
import { Page, Section } from '../../../components/Page';
import { ErrorState, ProblemNotice, SkeletonRows } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { useUrlState } from '../../../shell/url-state';
import { NotFoundInShell } from '../../../pages/errors/ErrorPages';
import { useZones } from '../../../pages/cluster/zones';
import { usePlaces } from '../../../pages/organisation/places';
import '../../../pages/work/work.css';
import { toYaml, written } from '../../../pages/work/document';
import { usableFlavorsQuery, workloadQuery } from '../../../pages/work/queries';
import { useRunPlaces } from '../../../pages/work/run-places';
import { LaunchFields } from './LaunchFields';
import { tarOf, type Entry } from './tar';
import { useNeverConfirm } from './useNeverConfirm';
import { useProbe } from './useProbe';
import { commandOf, documentOf, isSimulated, usual, valuesLike, type Values } from './values';
import { VerdictLine } from './VerdictLine';

/** Can it run, and when: the verdict stands above the form while one types. */
export default function LaunchPage() {
  const { t } = useTranslation();
  const may = useMay();
  const [{ like }] = useUrlState();
  const { home, loading } = useRunPlaces();
  const model = useQuery({ ...workloadQuery(like ?? ''), enabled: like !== undefined });
  // Known before the form stands, so that it begins with one chosen and nothing below moves when they come.
  const flavors = useQuery({ ...usableFlavorsQuery(home), enabled: !loading && may('flavors.read') });
  if (model.error instanceof ApiError && model.error.nowhere) return <NotFoundInShell />;
  if (loading || flavors.isLoading || (like && !model.data)) {
    return (
      <Page title={t('menu.launchTraining')} crumbs={[{ title: t('menu.training'), to: '/training' }]}>
        {model.error ? (
          <ErrorState error={model.error} onRetry={() => void model.refetch()} />
        ) : (
          <SkeletonRows rows={8} />
        )}
      </Page>
    );
  }
  return (
    <Launch
      initial={
        model.data ? valuesLike(model.data.spec) : { ...usual, organisation_id: home, flavor: flavors.data?.[0]?.name }
      }
    />
  );
}

function Launch({ initial }: { initial: Values }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { find } = usePlaces();
  const [form] = Form.useForm<Values>();
  const [typed, setValues] = useState(initial);
  const { zones } = useZones();
  const simulated = zones ? isSimulated(typed.zone, zones) : typed.simulated;
  const values = useMemo(() => ({ ...typed, simulated }), [typed, simulated]);
  const document = useMemo(() => documentOf(values), [values]);
  const probe = useProbe(document);
  const never = useNeverConfirm();
  const { submit, busy, error } = useSubmit(
    form,
    async (given: Values) => {
      const verdict = await probe.ask();
      if (verdict?.result === 'never' && !(await never.confirmed(verdict))) return null;
      const upload_id = given.files && !simulated ? await send(given.files) : values.upload_id;
      return body(
        client.POST('/api/v1/training', {
          params: { header: idempotencyKey() },
          body: documentOf({ ...values, ...given, simulation: values.simulation, upload_id }),
        }),
      );
    },
    (made) => {
      if (!made) return;
      void queries.invalidateQueries({ queryKey: keys.workloads });
      void navigate({ to: `/workloads/${made.id}` });
    },
    launched,
  );
  const yaml = toYaml(written(document));
  const command = commandOf(values, values.organisation_id ? find(values.organisation_id)?.name : undefined);
  return (
    <Page
      title={t('menu.launchTraining')}
      crumbs={[{ title: t('menu.training'), to: '/training' }]}
      actions={
        <Button type="primary" htmlType="submit" form="launch" disabled={busy}>
          {t('launch.submit')}
        </Button>
      }
      answer={<VerdictLine probe={probe} />}
      rail={
        <Section title={t('launch.asCode')}>
          <Code title={t('asCommand.cli')} text={command} />
          <Code title={t('launch.yaml')} text={yaml} />
        </Section>
      }
    >
      <Form<Values>
        id="launch"
        noValidate
        form={form}
        layout="vertical"
        className="launch"
        initialValues={initial}
        aria-label={t('menu.launchTraining')}
        onFinish={submit}
        onValuesChange={(_, all: Values) =>
          setValues((before) => ({
            ...before,
            ...all,
            resources: { ...before.resources, ...all.resources },
            simulation: { ...before.simulation, ...all.simulation },
          }))
        }
        scrollToFirstError
      >
        {error !== null && <ProblemNotice error={error} />}
        <LaunchFields values={values} />
      </Form>
      {never.dialog}
    </Page>
  );
}

const launched = (made: unknown): boolean => made !== null;

/** Sends the files as one archive; the same files are the same upload. */
async function send(files: Entry[]): Promise<string> {
  const archive = tarOf(files);
  // The types know of JSON bodies only.
  const given = {
    body: archive as never,
    bodySerializer: () => archive,
    headers: { 'Content-Type': 'application/x-tar' },
  };
  const upload = await body(client.POST('/api/v1/uploads', given));
  return upload.id;
}

function Code({ title, text }: { title: string; text: string }) {
  return (
    <>
      <div className="code-head">
        <span className="small text-2">{title}</span>
        <CopyButton text={text} />
      </div>
      <pre className="command wrapped">{text}</pre>
    </>
  );
}
