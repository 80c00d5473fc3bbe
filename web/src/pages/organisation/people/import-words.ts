import { useTranslation } from 'react-i18next';
import type { components } from '../../../api/schema';

export type ImportOutcome = components['schemas']['ImportResult'];
export type ImportedRow = components['schemas']['ImportedRow'];

export const EXAMPLE = 'name,display_name,mail\nada,Ada Lovelace,ada@example.org\nmei,Mei-Ling Chen,mei@example.org';

const known = [
  [/^name: 2 to 32/, 'name'],
  [/stands twice/, 'twice'],
  [/^name: taken/, 'taken'],
  [/^mail: /, 'mail'],
  [/^priority: /, 'priority'],
  [/^display_name: /, 'displayName'],
  [/cells for/, 'cells'],
] as const;

/** What is wrong with a line, in the language in use; what the catalogue does not know, as the server said it. */
export function useImportProblem(): (problem: string) => string {
  const { t } = useTranslation();
  return (problem) => {
    const key = known.find(([pattern]) => pattern.test(problem))?.[1];
    return key ? t(`people.import.problem.${key}`) : problem;
  };
}

/** A spreadsheet takes a cell that begins like a formula for one and runs it: such cells get a quote in front. */
function cell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The login links as a CSV to hand out. */
export function linksCsv(rows: readonly ImportedRow[]): string {
  const lines = rows.flatMap((row) =>
    row.login_link ? [[row.name, row.display_name, row.mail ?? '', row.login_link.url, row.login_link.expires_at]] : [],
  );
  return (
    [['name', 'display_name', 'mail', 'login_link', 'expires_at'], ...lines]
      .map((line) => line.map(cell).join(','))
      .join('\n') + '\n'
  );
}

/** Gives the browser a file to keep. */
export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
