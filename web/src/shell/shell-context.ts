import { createContext, useContext } from 'react';

interface ShellControls {
  openMenu: () => void;
  openPalette: () => void;
  /** Asks first when there are unsaved edits. */
  signOut: () => void;
}

export const ShellContext = createContext<ShellControls | null>(null);

export function useShell(): ShellControls {
  const shell = useContext(ShellContext);
  if (!shell) throw new Error('a page is shown outside the shell');
  return shell;
}
