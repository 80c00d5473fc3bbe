import type { ComponentType } from 'react';
import type { ParseKeys } from 'i18next';
import type { PageEntry } from '../pages/registry';

/** The views of one workload, in their order. */
export const TABS = ['overview', 'log', 'replicas', 'configuration'] as const;
export type Tab = (typeof TABS)[number];

/** What the console knows of one kind of work. Everything else about it is the same for every kind. */
export interface KindPlug {
  /** As the API spells it. */
  kind: string;
  /** What one workload of it is called. */
  name: ParseKeys;
  icon: ComponentType<{ size?: number }>;
  /** Where those who look for work of this kind look; a workload's page leads back there. */
  home: { path: string; name: ParseKeys };
  /** Its own pages; the first is its list if it has one. They get their places in routes, menu and palette. */
  pages: readonly PageEntry[];
  /** The form that makes one; without it people cannot launch it from the console. */
  launch?: { path: string; name: ParseKeys };
  /** What its list says while nothing of it runs or waits. */
  idle?: ParseKeys;
  /** Views that say nothing about work of this kind. */
  without?: readonly Tab[];
}
