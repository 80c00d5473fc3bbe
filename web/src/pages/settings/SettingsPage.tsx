import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { mailSettingsQuery, registrationSettingsQuery } from '../../api/platform';
import { useMay } from '../../api/session';
import { AsCommand } from '../../components/AsCommand';
import { ChangedNotice } from '../../components/LatestVersion';
import { AnswerLine, Page, Section } from '../../components/Page';
import { ErrorState, Notice, SkeletonAnswer, SkeletonRows } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { MailForm } from './MailForm';
import { MailTest } from './MailTest';
import { RegistrationForm } from './RegistrationForm';
import { useBegun } from './useBegun';

/** What an administrator changes while Corral runs: mail and registration. */
export default function SettingsPage() {
  const { t } = useTranslation();
  const mayChange = useMay()('settings.manage');
  const mail = useQuery(mailSettingsQuery);
  const registration = useQuery(registrationSettingsQuery);
  const mailForm = useBegun(mail.data);
  const registrationForm = useBegun(registration.data);
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
        {mailForm.old && (
          <div className="form spaced">
            <ChangedNotice onLoad={mailForm.end} />
          </div>
        )}
        {mailForm.shown && (
          <MailForm
            key={mailForm.shown.generation}
            settings={mailForm.shown}
            mayChange={mayChange}
            changed={mailForm.changed}
            onChange={mailForm.begin}
            onSaved={mailForm.end}
          />
        )}
      </Section>
      {mail.data && mayChange && (
        <Section title={t('settings.test')}>
          <MailTest settings={mail.data} changed={mailForm.changed} />
        </Section>
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
        {registrationForm.old && (
          <div className="form spaced">
            <ChangedNotice onLoad={registrationForm.end} />
          </div>
        )}
        {registrationForm.shown && (
          <RegistrationForm
            key={registrationForm.shown.generation}
            settings={registrationForm.shown}
            mayChange={mayChange}
            changed={registrationForm.changed}
            onChange={registrationForm.begin}
            onSaved={registrationForm.end}
          />
        )}
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
