import { Link, useSearch } from '@tanstack/react-router';
import { Button, Form, Input } from 'antd';
import { useEffect, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { ErrorState, ProblemNotice, SkeletonRows } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';
import { useRoleName } from '../../components/role-name';
import { useFormat } from '../../i18n/format';
import { forgetSecret, heldSecret } from '../../secret-from-address';
import type { UrlState } from '../../shell/url-state';
import { AccountFields, type AccountValues } from './AccountFields';
import { Door } from './Door';
import { useEnter } from './LoginPage';

/** What one is about to join, as the server previews it. */
interface Offer {
  organisation_name: string;
  role_name: string;
  role_key: string | null;
  expires_at: string;
  invited_by?: string;
  seats_left?: number;
  mail?: string | null;
}

/** Join with a code, or with an invitation whose secret came in the fragment. */
export default function JoinPage() {
  const [invitation] = useState(() => heldSecret('invitation'));
  return invitation ? <ByInvitation secret={invitation} /> : <ByCode />;
}

function ByInvitation({ secret }: { secret: string }) {
  const { t } = useTranslation();
  const enter = useEnter();
  const [form] = Form.useForm<AccountValues>();
  const [offer, setOffer] = useState<Offer | null>(null);
  const [refusal, setRefusal] = useState<unknown>(null);
  useEffect(() => {
    body(client.POST('/api/v1/invitations/preview', { body: { secret } })).then(setOffer, setRefusal);
  }, [secret]);
  const { submit, busy, error } = useSubmit(
    form,
    ({ name, display_name, password }: AccountValues) =>
      body(client.POST('/api/v1/invitations/accept', { body: { secret, name, display_name, password } })),
    (session) => {
      forgetSecret();
      enter(session);
    },
  );
  if (refusal !== null) {
    return (
      <Door title={t('join.title')} lead={t('join.invitationRefused')} after={<ToLogin />}>
        <ErrorState error={refusal} />
      </Door>
    );
  }
  if (!offer) {
    return (
      <Door title={t('join.title')} lead={t('join.reading')}>
        <SkeletonRows rows={3} />
      </Door>
    );
  }
  return (
    <Door
      title={t('join.to', { organisation: offer.organisation_name })}
      lead={<OfferLine offer={offer} />}
      after={<ToLogin />}
    >
      <Form<AccountValues>
        noValidate
        form={form}
        layout="vertical"
        onFinish={submit}
        initialValues={{ mail: offer.mail ?? undefined }}
      >
        {error !== null && <ProblemNotice error={error} />}
        <AccountFields mail="none" />
        <JoinButton busy={busy} offer={offer} />
      </Form>
    </Door>
  );
}

function ByCode() {
  const { t } = useTranslation();
  const search: UrlState = useSearch({ strict: false });
  const [code, setCode] = useState('');
  const [offer, setOffer] = useState<Offer | null>(null);
  const [form] = Form.useForm<{ code: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    async (values: { code: string }) => {
      const wanted = values.code.trim();
      const preview = await body(client.POST('/api/v1/join/preview', { body: { code: wanted } }));
      setCode(wanted);
      return preview;
    },
    setOffer,
  );
  if (offer) return <WithOffer code={code} offer={offer} onOther={() => setOffer(null)} />;
  return (
    <Door title={t('join.title')} lead={t('join.lead')} after={<ToLogin />}>
      <Form noValidate form={form} layout="vertical" onFinish={submit} initialValues={{ code: search.code }}>
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item
          name="code"
          label={t('field.joinCode')}
          rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('field.joinCode') }) }]}
        >
          {/* eslint-disable-next-line jsx-a11y/no-autofocus -- the one thing to do on this page */}
          <Input autoFocus autoComplete="off" autoCapitalize="none" spellCheck={false} className="mono" />
        </Form.Item>
        <Button type="primary" htmlType="submit" block disabled={busy}>
          {t('join.look')}
        </Button>
      </Form>
    </Door>
  );
}

function WithOffer({ code, offer, onOther }: { code: string; offer: Offer; onOther: () => void }) {
  const { t } = useTranslation();
  const enter = useEnter();
  const [form] = Form.useForm<AccountValues>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ name, display_name, mail, password }: AccountValues) =>
      body(client.POST('/api/v1/join', { body: { code, name, display_name, mail: mail?.trim() || null, password } })),
    enter,
  );
  return (
    <Door
      title={t('join.to', { organisation: offer.organisation_name })}
      lead={<OfferLine offer={offer} />}
      after={<ToLogin />}
    >
      <Form<AccountValues> noValidate form={form} layout="vertical" onFinish={submit}>
        {error !== null && <ProblemNotice error={error} />}
        <AccountFields mail="optional" />
        <JoinButton busy={busy} offer={offer} />
        <Button type="text" block onClick={onOther}>
          {t('join.otherCode')}
        </Button>
      </Form>
    </Door>
  );
}

function OfferLine({ offer }: { offer: Offer }): ReactNode {
  const { t } = useTranslation();
  const { moment, sentences } = useFormat();
  const role = useRoleName()(offer);
  return sentences([
    offer.invited_by ? t('join.invitedBy', { person: offer.invited_by, role }) : t('join.asRole', { role }),
    offer.seats_left === undefined ? null : t('join.seatsLeft', { count: offer.seats_left }),
    t('join.until', { time: moment(offer.expires_at) }),
  ]);
}

function JoinButton({ busy, offer }: { busy: boolean; offer: Offer }) {
  const { t } = useTranslation();
  return (
    <Button type="primary" htmlType="submit" block disabled={busy} style={{ marginTop: 8 }}>
      {t('join.join', { organisation: offer.organisation_name })}
    </Button>
  );
}

export function ToLogin() {
  const { t } = useTranslation();
  return (
    <>
      {t('join.haveAccount')} <Link to="/login">{t('login.signIn')}</Link>
    </>
  );
}
