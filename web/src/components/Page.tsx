import { Link } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { gap } from '../i18n/format';
import { LiveSign } from '../shell/LiveSign';
import { OrganisationSwitcher } from '../shell/OrganisationSwitcher';
import { useShell } from '../shell/shell-context';
import { Mark, MenuIcon, SearchIcon } from './icons';

export interface Crumb {
  title: string;
  to?: string;
}

interface PageProps {
  title: string;
  crumbs?: Crumb[];
  /** State chip beside the title. */
  chip?: ReactNode;
  /** Buttons, the primary one last but for a destructive one. On a phone they move to a bar at the foot. */
  actions?: ReactNode;
  /** Shows the state of the event stream. */
  live?: boolean;
  /** What is shown depends on the organisation one looks at: the switcher stands in the header. */
  scoped?: boolean;
  /** A TabBar below the header. */
  tabs?: ReactNode;
  /** One sentence that answers the page's question. */
  answer?: ReactNode;
  /** A column at the right with a hairline; follows the main part on narrow screens. */
  rail?: ReactNode;
  /** A SidePanel beside the list. */
  panel?: ReactNode;
  /** A bar below the scrolled part, such as what to do with the selected rows. */
  foot?: ReactNode;
  children?: ReactNode;
}

/** The frame of every page: header with crumb, title and actions, the answer first, then the evidence. */
export function Page({
  title,
  crumbs = [],
  chip,
  actions,
  live,
  scoped,
  tabs,
  answer,
  rail,
  panel,
  foot,
  children,
}: PageProps) {
  useEffect(() => {
    document.title = `${title} · Corral`;
  }, [title]);
  return (
    <div className="page">
      <header className="header">
        <PhoneMenuButton />
        <div className="crumbs">
          {crumbs.map((crumb) => (
            <CrumbLink key={crumb.title} {...crumb} />
          ))}
          <h1>{title}</h1>
          {chip}
        </div>
        {live && <LiveSign />}
        {scoped && <OrganisationSwitcher />}
        <div className="actions">{actions}</div>
        <PhoneSearchButton />
      </header>
      {tabs}
      <div className="page-body">
        <div className="page-column">
          <div className="page-scroll">
            {answer && <div className="answer-line">{answer}</div>}
            {rail ? (
              <div className="with-rail">
                <div>{children}</div>
                <aside className="rail">{rail}</aside>
              </div>
            ) : (
              children
            )}
          </div>
          {foot && <div className="page-foot">{foot}</div>}
        </div>
        {panel}
      </div>
    </div>
  );
}

function CrumbLink({ title, to }: Crumb) {
  return (
    <>
      {to ? <Link to={to}>{title}</Link> : <span className="crumb">{title}</span>}
      <span className="slash" aria-hidden="true">
        /
      </span>
    </>
  );
}

function PhoneMenuButton() {
  const { t } = useTranslation();
  const { openMenu } = useShell();
  return (
    <>
      <button
        type="button"
        className="plain icon-button only-phone"
        onClick={openMenu}
        aria-label={t('shell.openMenu')}
      >
        <MenuIcon size={20} />
      </button>
      <Mark className="mark only-phone" size={20} />
    </>
  );
}

function PhoneSearchButton() {
  const { t } = useTranslation();
  const { openPalette } = useShell();
  return (
    <button type="button" className="plain icon-button only-phone" onClick={openPalette} aria-label={t('shell.search')}>
      <SearchIcon size={20} />
    </button>
  );
}

/** The page's answer: a sentence with numbers, a grey consequence, a smaller second line. */
export function AnswerLine({
  children,
  consequence,
  detail,
}: {
  children: ReactNode;
  consequence?: ReactNode;
  detail?: ReactNode;
}) {
  const { i18n } = useTranslation();
  return (
    <>
      <p className="answer">
        {children}
        {gap(i18n.language)}
        {consequence && <span className="consequence">{consequence}</span>}
      </p>
      {detail && <p className="answer-detail">{detail}</p>}
    </>
  );
}

/** A heading and a hairline; never a card. */
export function Section({
  title,
  note,
  aside,
  children,
}: {
  title: string;
  note?: ReactNode;
  aside?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-head">
        <h2>{title}</h2>
        {note && <span className="note">{note}</span>}
        {aside && <div className="aside">{aside}</div>}
      </div>
      {children}
    </section>
  );
}
