import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Form, InputNumber } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { JoinCode } from '../../../api/models';
import { CopyButton } from '../../../components/Copy';
import { ConfirmByName } from '../../../components/Modals';
import { Section } from '../../../components/Page';
import { ErrorState, ProblemNotice, SkeletonRows } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { useFormat } from '../../../i18n/format';
import { usePlaces } from '../places';
import { joinCodesQuery } from '../queries';
import { useGivenRoleName } from '../roles-known';
import { hoursWithin, useRoleEnd } from '../RoleEnd';
import { HowLong, USUAL_HOURS, WhereAndRole } from './WhereAndRole';

interface Values {
  organisation_id: string;
  role_id: string;
  seats: number;
  expires_in_hours: number;
}

/** A code for the blackboard: as many people as it has seats join with it. */
export function JoinCodes({ start }: { start: { organisation_id?: string; role_id?: string } }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const queries = useQueryClient();
  const [made, setMade] = useState<(JoinCode & { code: string }) | null>(null);
  const [form] = Form.useForm<Values>();
  const end = useRoleEnd(Form.useWatch('role_id', form), Form.useWatch('organisation_id', form), ['people.invite']);
  const { submit, busy, error } = useSubmit(
    form,
    ({ expires_in_hours, ...rest }: Values) =>
      body(
        client.POST('/api/v1/join-codes', {
          params: { header: idempotencyKey() },
          body: { ...rest, expires_in_hours: hoursWithin(expires_in_hours, end) },
        }),
      ),
    (code) => {
      setMade({ ...code, code: code.code ?? '' });
      void queries.invalidateQueries({ queryKey: keys.joinCodes });
      void queries.invalidateQueries({ queryKey: keys.users });
    },
  );
  return (
    <>
      {made && (
        <div role="status">
          <div className="join-code" aria-label={t('field.joinCode')}>
            {made.code}
          </div>
          <div className="form-actions" style={{ marginBottom: 16 }}>
            <CopyButton text={made.code} size="middle" type="primary" label={t('people.code.copy')} />
            <CopyButton
              text={`${location.origin}/join?code=${made.code}`}
              size="middle"
              type="default"
              label={t('people.code.copyLink')}
            />
          </div>
          <p className="effect">
            {t('people.code.how', {
              count: made.seats,
              organisation: made.organisation_name,
              time: moment(made.expires_at),
            })}
          </p>
        </div>
      )}
      <Form<Values>
        form={form}
        layout="vertical"
        onFinish={submit}
        initialValues={{
          organisation_id: start.organisation_id,
          role_id: start.role_id,
          seats: 40,
          expires_in_hours: USUAL_HOURS,
        }}
        aria-label={t('people.code.new')}
      >
        {error !== null && <ProblemNotice error={error} />}
        <WhereAndRole needs="people.invite" />
        <Form.Item
          name="seats"
          label={t('people.code.seats')}
          rules={[{ required: true, message: t('form.needed', { field: t('people.code.seats') }) }]}
        >
          <InputNumber min={1} max={10_000} precision={0} style={{ width: '100%' }} />
        </Form.Item>
        <HowLong />
        <Button type={made ? 'default' : 'primary'} htmlType="submit" disabled={busy}>
          {t('people.code.make')}
        </Button>
      </Form>
      <OpenCodes />
    </>
  );
}

function OpenCodes() {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const { crumb } = usePlaces();
  const roleName = useGivenRoleName();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(joinCodesQuery);
  const [withdrawing, setWithdrawing] = useState<JoinCode | null>(null);
  return (
    <Section title={t('people.code.open')} note={data && String(data.length)}>
      {error && <ErrorState error={error} what={t('people.code.open')} onRetry={() => void refetch()} />}
      {!data && !error && <SkeletonRows rows={2} height={64} />}
      {data?.length === 0 && (
        <p className="effect" style={{ marginTop: 8 }}>
          {t('people.code.none')}
        </p>
      )}
      <ul>
        {data?.map((code) => (
          <li key={code.id} className="row">
            <div className="grow">
              {code.code === null ? (
                <div className="text-2">{t('people.code.hidden')}</div>
              ) : (
                <div>
                  <span className="mono strong">{code.code}</span> <CopyButton text={code.code} />
                </div>
              )}
              <div className="small text-2">
                {crumb(code.organisation_id, code.organisation_name)}
                {t('people.comma')}
                {roleName(code)}
              </div>
              <div className="small text-2">
                {t('people.code.taken', { taken: code.seats_taken, seats: code.seats })}
                {t('people.comma')}
                {t('people.code.until', { time: moment(code.expires_at) })}
              </div>
              <div className="seats" style={{ marginTop: 4 }} aria-hidden="true">
                <span style={{ width: `${(100 * code.seats_taken) / code.seats}%` }} />
              </div>
            </div>
            <Button size="small" danger onClick={() => setWithdrawing(code)}>
              {t('people.withdraw')}
            </Button>
          </li>
        ))}
      </ul>
      <ConfirmByName
        open={withdrawing !== null}
        title={
          withdrawing?.code
            ? t('people.code.withdrawTitle', { code: withdrawing.code })
            : t('people.code.withdrawHidden')
        }
        text={t('people.code.withdrawText')}
        action={t('people.withdraw')}
        keep={t('people.keepOpen')}
        onConfirm={async () => {
          await body(
            client.DELETE('/api/v1/join-codes/{join_code_id}', {
              params: { path: { join_code_id: withdrawing?.id ?? '' } },
            }),
          );
          await Promise.all([
            queries.invalidateQueries({ queryKey: keys.joinCodes }),
            queries.invalidateQueries({ queryKey: keys.users }),
          ]);
        }}
        onClose={() => setWithdrawing(null)}
      />
    </Section>
  );
}
