import { useNavigate } from '@tanstack/react-router';
import { Dropdown, type MenuProps } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMe } from '../api/session';
import { Avatar } from '../components/Avatar';
import { SelectIcon } from '../components/icons';
import { useRoleName } from '../components/role-name';
import { languages } from '../i18n/languages';
import { usePreferences } from '../theme/preferences';
import { themes, useChangePreferences } from './preferences-of-me';
import { useShell } from './shell-context';

/** Who is signed in, with profile, theme, language and sign out. */
export function UserBlock() {
  const { t } = useTranslation();
  const me = useMe();
  const roleName = useRoleName();
  const navigate = useNavigate();
  const { signOut } = useShell();
  const { theme, language } = usePreferences();
  const { chooseTheme, chooseLanguage } = useChangePreferences();

  const [role] = me.roles;
  const standing = role ? roleName(role) : (me.organisations[0]?.name ?? t('shell.noRole'));
  const items: MenuProps['items'] = [
    { key: 'profile', label: t('menu.profile'), onClick: () => void navigate({ to: '/profile' }) },
    { type: 'divider' },
    {
      type: 'group',
      label: t('shell.theme'),
      children: themes.map((one) => ({
        key: `theme-${one}`,
        label: t(`theme.${one}`),
        onClick: () => chooseTheme(one),
      })),
    },
    {
      type: 'group',
      label: t('shell.language'),
      children: languages.map((one) => ({
        key: `language-${one.key}`,
        label: <span lang={one.key}>{one.name}</span>,
        onClick: () => chooseLanguage(one.key),
      })),
    },
    { type: 'divider' },
    { key: 'sign-out', label: t('shell.signOut'), onClick: signOut },
  ];
  return (
    <Dropdown
      trigger={['click']}
      placement="topLeft"
      // Inside the phone's menu, a modal dialog, anything in the body would be covered.
      getPopupContainer={(trigger) => trigger.closest('dialog') ?? document.body}
      menu={{ items, selectedKeys: [`theme-${theme}`, `language-${language}`] }}
    >
      <button type="button" className="plain user-block">
        <Avatar name={me.display_name} />
        <span className="who">
          <span className="cut strong">{me.display_name}</span>
          <span className="cut small">{standing}</span>
        </span>
        <span className="visually-hidden">{t('shell.accountMenu')}</span>
        <SelectIcon className="text-3" />
      </button>
    </Dropdown>
  );
}
