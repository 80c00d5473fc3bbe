// Says what a first visit downloads, gzipped, and fails above the budget.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const BUDGET = 450_000;
const out = resolve(import.meta.dirname, '../../src/corral/server/console');
const manifest = JSON.parse(readFileSync(resolve(out, '.vite/manifest.json'), 'utf8'));

/** The files of a chunk and of everything it imports statically. */
function closure(key, seen = new Set()) {
  const chunk = manifest[key];
  if (!chunk) throw new Error(`the manifest has no ${key}; run npm run build first`);
  if (seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const css of chunk.css ?? []) seen.add(css);
  for (const next of chunk.imports ?? []) closure(next, seen);
  return seen;
}

const gzipped = (file) => gzipSync(readFileSync(resolve(out, file)), { level: 9 }).length;
const total = (files) => [...files].reduce((sum, file) => sum + gzipped(file), 0);
const kB = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

const pages = {
  'main bundle': ['index.html'],
  'login page': ['index.html', 'src/i18n/en.json', 'src/pages/login/LoginPage.tsx'],
  'login page, 繁體中文': ['index.html', 'src/i18n/zh-TW.json', 'src/pages/login/LoginPage.tsx'],
  home: ['index.html', 'src/i18n/en.json', 'src/shell/Shell.tsx', 'src/pages/home/HomePage.tsx'],
};
let failed = false;
for (const [name, keys] of Object.entries(pages)) {
  const files = new Set();
  for (const key of keys) closure(key, files);
  const bytes = total(files);
  failed ||= bytes > BUDGET;
  console.log(`${name}: ${kB(bytes)} gzipped in ${files.size} files (at most ${kB(BUDGET)})`);
}
process.exit(failed ? 1 : 0);
