import { Link, useRouterState } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { hasPermission, useSession } from '../api/session';
import { Mark, SearchIcon } from '../components/icons';
import { groups, pages, type PageEntry } from '../pages/registry';
import { useShell } from './shell-context';
import { UserBlock } from './UserBlock';

const apple = /Mac|iPhone|iPad/.test(navigator.userAgent);
export const paletteKey = apple ? '⌘K' : 'Ctrl K';

/** The left menu: only pages that exist and that the role may use. */
export function Menu({ inDrawer }: { inDrawer?: boolean }) {
  const { t } = useTranslation();
  const { openPalette } = useShell();
  const session = useSession();
  const allowed = pages.filter((page) => !page.permission || hasPermission(session, page.permission));
  return (
    <div className={inDrawer ? 'menu in-drawer' : 'menu'}>
      <div className="menu-head">
        <Link to="/" aria-label={t('shell.home')}>
          <Mark size={20} />
          <span>{t('product')}</span>
        </Link>
      </div>
      <button type="button" className="plain menu-search" onClick={openPalette}>
        <SearchIcon />
        <span>{t('shell.searchHint')}</span>
        <kbd className="key only-desk">{paletteKey}</kbd>
      </button>
      <nav className="menu-pages" aria-label={t('shell.menu')}>
        {groups.map((group) => (
          <MenuGroup key={group} group={group} entries={allowed.filter((page) => page.group === group)} />
        ))}
      </nav>
      <div className="menu-foot">
        <UserBlock />
      </div>
    </div>
  );
}

function MenuGroup({ group, entries }: { group: (typeof groups)[number]; entries: readonly PageEntry[] }) {
  const { t } = useTranslation();
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (entries.length === 0) return null;
  const isHere = (entry: PageEntry) =>
    entry.path === '/' ? path === '/' : path === entry.path || path.startsWith(`${entry.path}/`);
  return (
    <div role="group" aria-label={group === 'top' ? undefined : t(`menu.${group}`)}>
      {group !== 'top' && <div className="menu-group">{t(`menu.${group}`)}</div>}
      {entries.map((entry) => (
        <Link key={entry.key} to={entry.path} className="menu-item" aria-current={isHere(entry) ? 'page' : undefined}>
          {t(`menu.${entry.key}`)}
        </Link>
      ))}
    </div>
  );
}
