import { useQuery } from '@tanstack/react-query';
import { Button, Input, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import { useMay } from '../../api/session';
import { CloseIcon } from '../../components/icons';
import { OrganisationSwitcher } from '../../shell/OrganisationSwitcher';
import { useUrlState } from '../../shell/url-state';
import { isSpan, spans, type Span } from './filters';
import { useAuditWords } from './words';

const ANY = '*';

/** Who, what, organisation, result, time; all of it in the address. */
export function AuditFilterBar() {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const readsPeople = useMay()('people.read');
  const time = url.time === 'days' || isSpan(url.time) ? url.time : ANY;
  return (
    <div className="filters" role="search" aria-label={t('audit.filters')}>
      {readsPeople && <Actor />}
      <Actions />
      <OrganisationSwitcher />
      <Select
        aria-label={t('audit.result')}
        value={url.result ?? ANY}
        onChange={(value) => change({ result: value === ANY ? undefined : value })}
        popupMatchSelectWidth={false}
        options={[
          { value: ANY, label: t('audit.anyResult') },
          { value: 'done', label: t('state.done') },
          { value: 'refused', label: t('state.refused') },
        ]}
      />
      <Select
        aria-label={t('audit.time')}
        value={time}
        onChange={(value) => change({ time: value === ANY ? undefined : value, from: undefined, to: undefined })}
        popupMatchSelectWidth={false}
        options={[
          { value: ANY, label: t('audit.anyTime') },
          ...(Object.keys(spans) as Span[]).map((value) => ({ value, label: t(`audit.span.${value}`) })),
          { value: 'days', label: t('audit.span.days') },
        ]}
      />
      {time === 'days' && (
        <>
          <Input
            type="date"
            aria-label={t('audit.from')}
            style={{ width: 150 }}
            value={url.from ?? ''}
            onChange={(event) => change({ from: event.target.value || undefined })}
          />
          <Input
            type="date"
            aria-label={t('audit.to')}
            style={{ width: 150 }}
            value={url.to ?? ''}
            onChange={(event) => change({ to: event.target.value || undefined })}
          />
        </>
      )}
      {url.object && (
        <Button
          icon={<CloseIcon size={12} />}
          iconPlacement="end"
          title={t('audit.dropAbout', { name: url.name ?? url.object })}
          onClick={() => change({ object: undefined, name: undefined })}
        >
          {t('audit.about', { name: url.name ?? url.object })}
        </Button>
      )}
    </div>
  );
}

/** Finds the person by name; the list of people may be long, so the server searches. */
function Actor() {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const [text, setText] = useState('');
  const { data: found = [] } = useQuery({
    queryKey: [...keys.users, 'actors', text],
    queryFn: async ({ signal }) =>
      (
        await body(
          client.GET('/api/v1/users', {
            params: { query: { search: text || undefined, limit: 20, sort: 'display_name' } },
            signal,
          }),
        )
      ).items,
    placeholderData: (before) => before,
  });
  const { data: chosen } = useQuery({
    queryKey: [...keys.users, 'one', url.actor],
    queryFn: () => body(client.GET('/api/v1/users/{user_id}', { params: { path: { user_id: url.actor ?? '' } } })),
    enabled: Boolean(url.actor),
    retry: false,
  });
  const people = [...(chosen && !found.some((one) => one.id === chosen.id) ? [chosen] : []), ...found];
  return (
    <Select
      aria-label={t('audit.who')}
      placeholder={t('audit.anyone')}
      value={url.actor ?? null}
      allowClear
      onChange={(value) => change({ actor: value ?? undefined })}
      showSearch={{ filterOption: false, onSearch: (value) => setText(value.trim()) }}
      popupMatchSelectWidth={false}
      style={{ minWidth: 132 }}
      options={people.map((person) => ({ value: person.id, label: person.display_name }))}
    />
  );
}

function Actions() {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const words = useAuditWords();
  const { data = [] } = useQuery({
    queryKey: ['audit-actions'],
    queryFn: async () => (await body(client.GET('/api/v1/audit/actions'))).items,
    staleTime: Infinity,
  });
  const kinds = [...new Set(data.map(({ key }) => key.split('.')[0] ?? key))];
  return (
    <Select<string[]>
      mode="multiple"
      aria-label={t('audit.what')}
      placeholder={t('audit.anything')}
      value={url.action ? url.action.split(',') : []}
      onChange={(value) => change({ action: value.length > 0 ? value.join(',') : undefined })}
      showSearch={{ optionFilterProp: 'label' }}
      popupMatchSelectWidth={false}
      // A fixed width: measured tags make the row change its width without end.
      maxTagCount={1}
      maxTagTextLength={16}
      style={{ width: url.action ? 216 : 132 }}
      options={kinds.map((kind) => ({
        label: words.kind(kind),
        options: data
          .filter(({ key }) => key.startsWith(`${kind}.`))
          .map(({ key }) => ({ value: key, label: words.actionTitle(key) })),
      }))}
    />
  );
}
