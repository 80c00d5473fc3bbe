import type { KindPlug } from './plug';
import { runtime } from './runtime';
import { training } from './training';

/** Every kind of work that the console knows, in the order of the menu. One that is not here has a row and a page, too. */
export const kinds: readonly KindPlug[] = [training, runtime];

export const plugOf = (kind: string): KindPlug | undefined => kinds.find((one) => one.kind === kind);

export const launchable = kinds.filter((one) => one.launch !== undefined);
