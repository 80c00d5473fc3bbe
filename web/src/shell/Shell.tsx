import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Outlet, useBlocker, useNavigate, useRouterState, type ShouldBlockFn } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { followChanges } from '../api/live';
import { hasPermission, sessionQuery, signOut, useSession } from '../api/session';
import { Dialog } from '../components/Dialog';
import { closesForms, discardUnsaved, hasUnsaved } from '../components/unsaved';
import { pages } from '../pages/registry';
import { LostBanner } from './LiveSign';
import { Menu } from './Menu';
import { useAccountPreferences } from './preferences-of-me';
import { ShellContext } from './shell-context';

const loadPalette = () => import('./CommandPalette');
const CommandPalette = lazy(loadPalette);
const loadQuestion = () => import('./UnsavedQuestion');
const UnsavedQuestion = lazy(loadQuestion);
const losesEdits: ShouldBlockFn = ({ current, next }) => closesForms(current, next) && hasUnsaved();

/** The signed-in console: left menu, page, palette, event stream. Leaves for the login page when the session ends. */
export default function Shell() {
  const { data: session } = useQuery(sessionQuery);
  const navigate = useNavigate();
  const mustGo = session === null ? 'login' : session?.must_change_password ? 'password' : null;
  useEffect(() => {
    // The address is read here, not watched: it changes while we leave, and leaving must happen once.
    const next = location.pathname + location.search;
    if (mustGo === 'login') void navigate({ to: '/login', search: { next }, replace: true });
    if (mustGo === 'password') void navigate({ to: '/password', replace: true });
  }, [mustGo, navigate]);
  return session ? <SignedIn key={session.user.id} user={session.user.id} /> : null;
}

function SignedIn({ user }: { user: string }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [open, setOpen] = useState<'menu' | 'palette' | null>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [signingOut, setSigningOut] = useState(false);
  const shell = useMemo(
    () => ({
      openMenu: () => setOpen('menu'),
      openPalette: () => setOpen('palette'),
      signOut: () => {
        setOpen(null);
        if (hasUnsaved()) setSigningOut(true);
        else void signOut();
      },
    }),
    [],
  );
  useAccountPreferences();
  usePaletteKey(shell.openPalette);
  useCodeAhead();
  useEffect(() => followChanges(user, queries), [user, queries]);
  const leaving = useBlocker({ shouldBlockFn: losesEdits, enableBeforeUnload: hasUnsaved, withResolver: true });
  const [menuPath, setMenuPath] = useState(path);
  if (menuPath !== path) {
    // Choosing a page in the phone's menu closes it.
    setMenuPath(path);
    if (open === 'menu') setOpen(null);
  }
  return (
    <ShellContext value={shell}>
      <a className="skip" href="#main">
        {t('shell.skip')}
      </a>
      <div className="shell">
        <Menu />
        <main id="main" className="main" tabIndex={-1}>
          <LostBanner />
          <Outlet />
        </main>
      </div>
      {open === 'menu' && (
        <Dialog label={t('shell.menu')} className="menu-drawer" onClose={() => setOpen(null)}>
          <Menu inDrawer />
        </Dialog>
      )}
      {open === 'palette' && (
        <Suspense>
          <CommandPalette onClose={() => setOpen(null)} />
        </Suspense>
      )}
      {signingOut && (
        <Suspense>
          <UnsavedQuestion onDiscard={discardAndSignOut} onKeep={() => setSigningOut(false)} />
        </Suspense>
      )}
      {leaving.status === 'blocked' && (
        <Suspense>
          <UnsavedQuestion onDiscard={leaving.proceed} onKeep={leaving.reset} />
        </Suspense>
      )}
    </ShellContext>
  );
}

function discardAndSignOut(): void {
  discardUnsaved();
  void signOut();
}

/** Fetches the code of the other pages while nothing happens, so that they open also when the server is away. */
function useCodeAhead(): void {
  const session = useSession();
  useEffect(() => {
    const fetchAll = () => {
      const allowed = pages.filter((page) => !page.permission || hasPermission(session, page.permission));
      // What fails here is fetched again, and its failure shown, when it is opened.
      for (const load of [loadPalette, loadQuestion, ...allowed.map((page) => page.load)])
        load().catch(() => undefined);
    };
    // Safari has no idle callback.
    const timer = setTimeout(
      () => ('requestIdleCallback' in window ? requestIdleCallback(fetchAll, { timeout: 5000 }) : fetchAll()),
      1000,
    );
    return () => clearTimeout(timer);
  }, [session]);
}

function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [open]);
}
