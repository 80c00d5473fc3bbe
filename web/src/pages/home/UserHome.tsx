import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session';
import { AnswerLine, Page, Section } from '../../components/Page';
import { useRoleName } from '../../components/role-name';
import { Notice } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { useGo } from '../../shell/go';
import { useUrlState } from '../../shell/url-state';
import { useLiveCounts } from '../work/live-counts';
import { JoinPanel } from './JoinPanel';

/** What of one's own runs and waits, and what can be prepared. */
export function UserHome() {
  const { t } = useTranslation();
  const me = useMe();
  const [{ edit }, change] = useUrlState();
  const joining = edit === 'join';
  const setJoining = (open: boolean) => change({ edit: open ? 'join' : undefined });
  const [joined, setJoined] = useState<string | null>(null);
  const live = useLiveCounts({ user_id: me.id });
  const names = me.organisations.map((one) => one.name).join(', ');
  return (
    <Page
      title={t('menu.home')}
      live
      answer={
        <AnswerLine
          consequence={names ? t('home.user.belongs', { organisations: names }) : t('home.user.belongsNowhere')}
          detail={
            <Link to="/training" search={{ whose: 'mine' }}>
              {t('home.user.detail')}
            </Link>
          }
        >
          {live}
        </AnswerLine>
      }
      rail={<MyRoles />}
      panel={
        joining && (
          <JoinPanel
            onClose={() => setJoining(false)}
            onJoined={(organisation) => {
              setJoining(false);
              setJoined(organisation);
            }}
          />
        )
      }
    >
      {joined !== null && <Notice tone="good">{t('home.user.joined', { organisation: joined })}</Notice>}
      <Section title={t('home.user.prepare')} note={t('home.user.prepareNote')}>
        <Step name="ssh" to="/profile?tab=sshKeys" />
        <Step name="token" to="/profile?tab=tokens" />
        <Step name="join" onClick={() => setJoining(true)} />
      </Section>
    </Page>
  );
}

function Step({ name, to, onClick }: { name: 'ssh' | 'token' | 'join'; to?: string; onClick?: () => void }) {
  const { t } = useTranslation();
  const go = useGo();
  return (
    <div className="row step">
      <div className="grow">
        <div className="strong">{t(`home.user.${name}.title`)}</div>
        <div className="small text-2">{t(`home.user.${name}.text`)}</div>
      </div>
      <Button size="small" onClick={() => (to ? go(to) : onClick?.())}>
        {t(`home.user.${name}.action`)}
      </Button>
    </div>
  );
}

function MyRoles() {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const me = useMe();
  const roleName = useRoleName();
  return (
    <Section title={t('home.user.roles')}>
      {me.roles.length === 0 && <p className="row text-2">{t('profile.account.noRole')}</p>}
      {me.roles.map((role) => (
        <div key={role.grant_id} className="row">
          <div>
            <div className="strong">{roleName(role)}</div>
            <div className="small text-2">
              {t('home.user.on', { organisation: role.organisation_name })}
              {role.expires_at && ` · ${t('home.user.until', { time: moment(role.expires_at) })}`}
            </div>
          </div>
        </div>
      ))}
    </Section>
  );
}
