import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { MailSettings } from '../../api/models';
import { mailSettingsQuery, registrationSettingsQuery } from '../../api/platform';
import { useMay } from '../../api/session';
import { AsCommand } from '../../components/AsCommand';
import { LatestVersion } from '../../components/LatestVersion';
import { AnswerLine, Page, Section } from '../../components/Page';
import { ErrorState, Notice, SkeletonAnswer, SkeletonRows } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { MailForm } from './MailForm';
import { MailTest } from './MailTest';
import { RegistrationForm } from './RegistrationForm';

/** What an administrator changes while Corral runs: mail and registration. */
export default function SettingsPage() {
  const { t } = useTranslation();
  const mayChange = useMay()('settings.manage');
  const mail = useQuery(mailSettingsQuery);
  const registration = useQuery(registrationSettingsQuery);
  return (
    <Page
      title={t('menu.settings')}
      crumbs={[{ title: t('menu.platform') }]}
      answer={<Answer />}
      actions={<AsCommand cli="corral settings mail show" api="GET /api/v1/settings/mail" />}
    >
      {!mayChange && <Notice tone="warning">{t('settings.readOnly')}</Notice>}
      {mail.error && (
        <Section title={t('settings.mail')}>
          <ErrorState error={mail.error} what={t('settings.mail')} onRetry={() => void mail.refetch()} />
        </Section>
      )}
      {mail.isPending && (
        <Section title={t('settings.mail')}>
          <SkeletonRows rows={5} height={56} />
        </Section>
      )}
      {mail.data && (
        <LatestVersion of={mail.data}>{(shown) => <Mail settings={shown} mayChange={mayChange} />}</LatestVersion>
      )}
      <Section title={t('settings.registration')}>
        {registration.error && (
          <ErrorState
            error={registration.error}
            what={t('settings.registration')}
            onRetry={() => void registration.refetch()}
          />
        )}
        {registration.isPending && <SkeletonRows rows={2} height={56} />}
        {registration.data && (
          <LatestVersion of={registration.data}>
            {(shown) => <RegistrationForm settings={shown} mayChange={mayChange} />}
          </LatestVersion>
        )}
      </Section>
    </Page>
  );
}

/** The server and its test, which uses what is saved and not what is typed. */
function Mail({ settings, mayChange }: { settings: MailSettings; mayChange: boolean }) {
  const { t } = useTranslation();
  const [changed, setChanged] = useState(false);
  return (
    <>
      <Section title={t('settings.mail')}>
        <MailForm settings={settings} mayChange={mayChange} changed={changed} onChanged={setChanged} />
      </Section>
      {mayChange && (
        <Section title={t('settings.test')}>
          <MailTest settings={settings} changed={changed} />
        </Section>
      )}
    </>
  );
}

function Answer() {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const { data: mail } = useQuery(mailSettingsQuery);
  const { data: registration } = useQuery(registrationSettingsQuery);
  if (!mail || !registration) return <SkeletonAnswer />;
  const tested = mail.tested_at
    ? t('settings.answer.tested', { time: moment(mail.tested_at) })
    : t('settings.answer.untested');
  const signUp = registration.sign_up ? t('settings.answer.signUpOn') : t('settings.answer.signUpOff');
  return (
    <AnswerLine consequence={mail.host ? `${tested} ${signUp}` : signUp}>
      {mail.host ? t('settings.answer.mail', { host: mail.host }) : t('settings.answer.noMail')}
    </AnswerLine>
  );
}
