import type { ComponentType } from 'react';
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
  type RouteComponent,
} from '@tanstack/react-router';
import { safeReturnPath } from './api/return-path';
import { hasPermission, sessionQuery, useSession } from './api/session';
import { ForbiddenPage, NotFoundInShell, PageError, WholePageError } from './pages/errors/ErrorPages';
import { pages, type PageEntry } from './pages/registry';
import { heldSecret } from './secret-from-address';
import { parseSearch, stringifySearch, type UrlState } from './shell/url-state';

interface Context {
  queries: QueryClient;
}

const anySearch = (search: Record<string, unknown>): UrlState => search as UrlState;

const root = createRootRouteWithContext<Context>()({ validateSearch: anySearch, errorComponent: WholePageError });

/** Signed in or sent to the login page, which knows the way back. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: lazyRouteComponent(() => import('./shell/Shell')),
  notFoundComponent: NotFoundInShell,
  search: { middlewares: [retainSearchParams<UrlState>(['organisation'])] },
  beforeLoad: async ({ context, location }) => {
    const session = await context.queries.ensureQueryData(sessionQuery);
    if (!session) throw redirect({ to: '/login', search: location.pathname === '/' ? {} : { next: location.href } });
    if (session.must_change_password) throw redirect({ to: '/password' });
  },
});

const shellPages = pages.map((page) =>
  createRoute({ getParentRoute: () => shell, path: page.path, errorComponent: PageError, component: allowed(page) }),
);

/** The page, or 403 where the role does not allow it. The router loads its code before it shows it. */
function allowed(page: PageEntry): RouteComponent {
  const Content = lazyRouteComponent(page.load) as ComponentType & { preload?: () => Promise<unknown> };
  function AllowedPage() {
    const session = useSession();
    return !page.permission || hasPermission(session, page.permission) ? <Content /> : <ForbiddenPage page={page} />;
  }
  return Object.assign(AllowedPage, { preload: async () => void (await Content.preload?.()) });
}

const nowhere = createRoute({ getParentRoute: () => shell, path: '$', component: NotFoundInShell });

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => import('./pages/login/LoginPage')),
  beforeLoad: async ({ context, search }) => {
    // A login link is for whoever holds it, also when somebody else is signed in here.
    if (heldSecret('once')) return;
    const session = await context.queries.ensureQueryData(sessionQuery);
    if (session) throw redirect({ href: safeReturnPath(search.next) });
  },
});
const join = createRoute({
  getParentRoute: () => root,
  path: '/join',
  component: lazyRouteComponent(() => import('./pages/login/JoinPage')),
});
const signUp = createRoute({
  getParentRoute: () => root,
  path: '/sign-up',
  component: lazyRouteComponent(() => import('./pages/login/SignUpPage')),
});
const password = createRoute({
  getParentRoute: () => root,
  path: '/password',
  component: lazyRouteComponent(() => import('./pages/login/FirstPasswordPage')),
  beforeLoad: async ({ context }) => {
    const session = await context.queries.ensureQueryData(sessionQuery);
    if (!session) throw redirect({ to: '/login' });
    if (!session.must_change_password) throw redirect({ to: '/' });
  },
});

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([shell.addChildren([...shellPages, nowhere]), login, join, signUp, password]),
    context: { queries },
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    defaultErrorComponent: WholePageError,
  });
}
