import { useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import type { Session } from '../../api/models';
import { safeReturnPath } from '../../api/return-path';
import { adoptSession } from '../../api/session';
import { ErrorState, ProblemNotice, SkeletonRows } from '../../components/States';
import { forgetSecret, heldSecret } from '../../secret-from-address';
import { useGo } from '../../shell/go';
import type { UrlState } from '../../shell/url-state';
import { Door, useLoginOptions } from './Door';
import { LoginForm } from './LoginForm';

export default function LoginPage() {
  const { t } = useTranslation();
  const options = useLoginOptions();
  const enter = useEnter();
  const link = useLoginLink(enter);
  if (link.state === 'trying') {
    return (
      <Door title={t('product')} lead={t('login.byLink')}>
        <SkeletonRows rows={2} />
      </Door>
    );
  }
  return (
    <Door
      title={options.data?.organisation_name ?? t('product')}
      lead={t('login.lead')}
      after={<OtherWays signUp={options.data?.sign_up ?? false} />}
    >
      {link.state === 'refused' && <ProblemNotice error={link.error} />}
      {options.error && <ErrorState error={options.error} onRetry={() => void options.refetch()} />}
      {options.data?.providers.map(
        (provider) =>
          provider.kind === 'form' && <LoginForm key={provider.key} provider={provider.key} onEnter={enter} />,
      )}
    </Door>
  );
}

function OtherWays({ signUp }: { signUp: boolean }) {
  const { t } = useTranslation();
  return (
    <>
      <div>
        {t('login.haveCode')} <Link to="/join">{t('login.join')}</Link>
      </div>
      {signUp && (
        <div>
          {t('login.noAccount')} <Link to="/sign-up">{t('login.signUp')}</Link>
        </div>
      )}
    </>
  );
}

/** Takes the new session and goes where one wanted to go. */
export function useEnter(): (session: Session) => void {
  const queries = useQueryClient();
  const go = useGo();
  const search: UrlState = useSearch({ strict: false });
  return useCallback(
    (session) => {
      adoptSession(queries, session);
      go(session.must_change_password ? '/password' : safeReturnPath(search.next));
    },
    [queries, go, search.next],
  );
}

type LinkState = { state: 'none' } | { state: 'trying' } | { state: 'refused'; error: unknown };

/** A one-time login link: its secret is posted once; a used or old link says so above the form. */
function useLoginLink(enter: (session: Session) => void): LinkState {
  const [secret] = useState(() => heldSecret('once'));
  const [link, setLink] = useState<LinkState>(secret ? { state: 'trying' } : { state: 'none' });
  const sent = useRef(false);
  useEffect(() => {
    if (!secret || sent.current) return;
    sent.current = true;
    body(client.POST('/api/v1/session/link', { body: { secret } }))
      .then(enter, (error: unknown) => setLink({ state: 'refused', error }))
      .finally(forgetSecret);
  }, [secret, enter]);
  return link;
}
