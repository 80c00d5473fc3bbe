import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../api/client';
import { keys } from '../api/keys';
import { flatten, organisationsQuery, organisationTree } from '../api/organisations';
import { hasPermission, useSession } from '../api/session';
import { GlobeIcon, PageIcon, PersonIcon, SignOutIcon, SunIcon, TreeIcon } from '../components/icons';
import { languages } from '../i18n/languages';
import { pages } from '../pages/registry';
import { themes, useChangePreferences } from './preferences-of-me';
import { useShell } from './shell-context';
import { useLookingAt } from './looking-at';

export interface PaletteItem {
  id: string;
  group: 'pages' | 'people' | 'organisations' | 'actions';
  name: string;
  what?: string;
  icon: ReactNode;
  run: () => void;
}

/** Everything one can jump to or do from the palette that matches the text. */
export function usePaletteItems(text: string): PaletteItem[] {
  const all = [...usePageItems(), ...useOrganisationItems(), ...useActionItems()];
  const people = usePeopleItems(text);
  const wanted = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ name, what = '' }: PaletteItem) =>
    wanted.every((word) => `${name} ${what}`.toLowerCase().includes(word));
  const limit = wanted.length === 0 ? 8 : 20;
  const found = all.filter(matches);
  const of = (group: PaletteItem['group']) => found.filter((item) => item.group === group).slice(0, limit);
  return [...of('pages'), ...people, ...of('organisations'), ...of('actions')];
}

function usePageItems(): PaletteItem[] {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const session = useSession();
  return (
    pages
      // A page of one thing is reached through the thing.
      .filter((page) => !page.path.includes('$') && (!page.permission || hasPermission(session, page.permission)))
      .map((page) => ({
        id: `page-${page.key}`,
        group: 'pages',
        name: t(`menu.${page.key}`),
        what: page.group && page.group !== 'top' ? t(`menu.${page.group}`) : undefined,
        icon: <PageIcon />,
        run: () => void navigate({ to: page.path }),
      }))
  );
}

function usePeopleItems(text: string): PaletteItem[] {
  const navigate = useNavigate();
  const session = useSession();
  const search = text.trim();
  const hasPage = pages.some((page) => page.key === 'people');
  const { data } = useQuery({
    queryKey: [...keys.users, 'palette', search],
    queryFn: ({ signal }) => body(client.GET('/api/v1/users', { params: { query: { search, limit: 6 } }, signal })),
    enabled: hasPage && search.length >= 2 && hasPermission(session, 'people.read'),
    placeholderData: (before) => (search.length >= 2 ? before : undefined),
  });
  return (data?.items ?? []).map((person) => ({
    id: `person-${person.id}`,
    group: 'people',
    name: person.display_name,
    what: person.mail ?? person.name,
    icon: <PersonIcon />,
    run: () => void navigate({ to: '/people', search: { person: person.id } }),
  }));
}

function useOrganisationItems(): PaletteItem[] {
  const { t } = useTranslation();
  const { data = [] } = useQuery(organisationsQuery);
  const { look } = useLookingAt();
  if (data.length < 2) return [];
  return flatten(organisationTree(data)).map((node) => ({
    id: `organisation-${node.id}`,
    group: 'organisations',
    name: node.name,
    what: t('palette.lookAt'),
    icon: <TreeIcon />,
    run: () => look(node.id),
  }));
}

function useActionItems(): PaletteItem[] {
  const { t } = useTranslation();
  const { signOut } = useShell();
  const { chooseTheme, chooseLanguage } = useChangePreferences();
  return [
    ...themes.map((theme) => ({
      id: `theme-${theme}`,
      group: 'actions' as const,
      name: t(`theme.${theme}`),
      what: t('shell.theme'),
      icon: <SunIcon />,
      run: () => chooseTheme(theme),
    })),
    ...languages.map(({ key, name }) => ({
      id: `language-${key}`,
      group: 'actions' as const,
      name,
      what: t('shell.language'),
      icon: <GlobeIcon />,
      run: () => chooseLanguage(key),
    })),
    { id: 'sign-out', group: 'actions', name: t('shell.signOut'), icon: <SignOutIcon />, run: signOut },
  ];
}
