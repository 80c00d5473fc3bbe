import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { mailSettingsQuery, registrationSettingsQuery } from '../../api/platform';
import { useMay } from '../../api/session';
import { AsCommand } from '../../components/AsCommand';
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
  // The generation that the mail form has unsaved changes of.
  const [changedFrom, setChangedFrom] = useState<number | null>(null);
  return (
    <Page
      title={t('menu.settings')}
      crumbs={[{ title: t('menu.platform') }]}
      answer={<Answer />}
      actions={<AsCommand cli="corral settings mail show" api="GET /api/v1/settings/mail" />}
    >
      {!mayChange && <Notice tone="warning">{t('settings.readOnly')}</Notice>}
      <Section title={t('settings.mail')}>
        {mail.error && <ErrorState error={mail.error} what={t('settings.mail')} onRetry={() => void mail.refetch()} />}
        {mail.isPending && <SkeletonRows rows={5} height={56} />}
        {mail.data && <MailForm key={mail.data.generation} settings={mail.data} mayChange={mayChange} onChanged={() => setChangedFrom(mail.data.generation)} />}
      </Section>
      {mail.data && mayChange && (
        <Section title={t('settings.test')}>
          <MailTest settings={mail.data} changed={changedFrom === mail.data.generation} />
        </Section>
      )}
      <Section title={t('settings.registration')}>
        {registration.error && <ErrorState error={registration.error} what={t('settings.registration')} onRetry={() => void registration.refetch()} />}
        {registration.isPending && <SkeletonRows rows={2} height={56} />}
        {registration.data && <RegistrationForm key={registration.data.generation} settings={registration.data} mayChange={mayChange} />}
      </Section>
    </Page>
  );
}

function Answer() {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const { data: mail } = useQuery(mailSettingsQuery);
  const { data: registration } = useQuery(registrationSettingsQuery);
  if (!mail || !registration) return <SkeletonAnswer />;
  const tested = mail.tested_at ? t('settings.answer.tested', { time: moment(mail.tested_at) }) : t('settings.answer.untested');
  const signUp = registration.sign_up ? t('settings.answer.signUpOn') : t('settings.answer.signUpOff');
  return (
    <AnswerLine consequence={mail.host ? `${tested} ${signUp}` : signUp}>
      {mail.host ? t('settings.answer.mail', { host: mail.host }) : t('settings.answer.noMail')}
    </AnswerLine>
  );
}
