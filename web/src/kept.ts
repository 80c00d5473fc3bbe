type Key = 'theme' | 'language' | 'organisation' | 'menu';

/** What this browser keeps between visits. Storage may be blocked (private windows): then nothing is kept. */
export function readKept(key: Key): string | null {
  try {
    return localStorage.getItem(`corral.${key}`);
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

export function writeKept(key: Key, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`corral.${key}`);
    else localStorage.setItem(`corral.${key}`, value);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}
