import { useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { Page } from '../../components/Page';
import { ErrorState, SkeletonAnswer } from '../../components/States';
import { useUrlState } from '../../shell/url-state';

/** Leads into an app: gets a ticket and posts it to the app's own host name, which gives its cookie for it. */
export default function OpenAppPage() {
  const { t } = useTranslation();
  const { workloadId = '' }: { workloadId?: string } = useParams({ strict: false });
  const [{ port, path }] = useUrlState();
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);

  useEffect(() => {
    let left = false;
    const enter = async () => {
      const number = port === undefined ? null : Number(port);
      const ticket = await body(
        client.POST('/api/v1/workloads/{workload_id}/tickets', {
          params: { path: { workload_id: workloadId } },
          body: { port: number },
        }),
      );
      if (!left) post(ticket.action, { ticket: ticket.ticket, path: path ?? '/' });
    };
    enter().catch((problem: unknown) => !left && setError(problem));
    return () => {
      left = true;
    };
  }, [workloadId, port, path, round]);

  const again = () => {
    setError(null);
    setRound(round + 1);
  };
  return (
    <Page title={t('apps.opening')}>
      {error === null ? <SkeletonAnswer /> : <ErrorState error={error} onRetry={again} />}
    </Page>
  );
}

/** In the body of a form: a ticket is in no address, and so in no history and no log. */
function post(action: string, fields: Record<string, string>) {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = action;
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input');
    input.type = 'hidden';
    input.name = name;
    input.value = value;
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}
