import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session';
import { AnswerLine, Page } from '../../components/Page';
import { useRoleName } from '../../components/role-name';
import { TabBar } from '../../components/TabBar';
import { useUrlState } from '../../shell/url-state';
import { AccountTab } from './AccountTab';
import { SessionsTab } from './SessionsTab';
import { SshKeysTab } from './SshKeysTab';
import { TokensTab } from './TokensTab';

const tabs = ['account', 'tokens', 'sshKeys', 'sessions'] as const;

/** One's own account: name, mail, password, tokens, keys, sessions. */
export default function ProfilePage() {
  const { t } = useTranslation();
  const me = useMe();
  const roleName = useRoleName();
  const [{ tab }] = useUrlState();
  const open = tabs.find((one) => one === tab) ?? 'account';
  const common = {
    title: t('menu.profile'),
    tabs: <TabBar label={t('menu.profile')} tabs={tabs.map((key) => ({ key, title: t(`profile.${key}.tab`) }))} />,
  };
  if (open === 'tokens') return <TokensTab {...common} />;
  if (open === 'sshKeys') return <SshKeysTab {...common} />;
  if (open === 'sessions') return <SessionsTab {...common} />;
  const role = me.roles[0];
  return (
    <Page
      {...common}
      answer={
        <AnswerLine
          consequence={
            role
              ? t('profile.account.role', { role: roleName(role), organisation: role.organisation_name })
              : t('profile.account.noRole')
          }
        >
          {t('profile.account.answer', { name: me.display_name })}
        </AnswerLine>
      }
    >
      <AccountTab />
    </Page>
  );
}

export interface TabProps {
  title: string;
  tabs: React.ReactNode;
}
