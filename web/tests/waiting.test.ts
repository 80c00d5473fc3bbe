import i18next from 'i18next';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { initReactI18next } from 'react-i18next';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Flavor, Workload } from '../src/api/models';
import en from '../src/i18n/en.json';
import zhCN from '../src/i18n/zh-CN.json';
import zhTW from '../src/i18n/zh-TW.json';
import { useFlavorLack } from '../src/pages/work/never-words';
import { useVerdictWords } from '../src/pages/work/verdict-words';
import { useReasonWords, type Told } from '../src/pages/work/words';

type Waits = NonNullable<Workload['waits']>;

const latin = /[A-Za-z]{3,}/;
const waits = (kind: string, facts: Waits['facts'], more: Partial<Waits> = {}): Waits => ({
  kind,
  sentence: 'The words of the server.',
  facts,
  in_queue: null,
  starts_at: null,
  at: null,
  ...more,
});

async function said(language: string, hook: () => string): Promise<string> {
  await i18next.changeLanguage(language);
  return renderToString(createElement(() => hook()));
}
const waiting = (language: string, given: Waits) => said(language, () => useVerdictWords().waiting(given));
const reason = (language: string, told: Told) => said(language, () => useReasonWords()(told));

beforeAll(() =>
  i18next.use(initReactI18next).init({
    lng: 'en',
    resources: { en: { translation: en }, 'zh-CN': { translation: zhCN }, 'zh-TW': { translation: zhTW } },
    interpolation: { escapeValue: false },
    react: { useSuspense: false },
  }),
);

describe('why work waits', () => {
  test('is the rule, its turn and when it starts', async () => {
    const given = waits(
      'no_room',
      { used: 0, asked: 1 },
      { in_queue: { number: 2, of: 3 }, starts_at: '2001-01-01T10:00:00Z' },
    );
    expect(await waiting('en', given)).toMatch(
      /^Waits: no node has room for it\. 2 of 3 in its queue\. Starts ≈.1.Jan.2001/,
    );
  });

  test('says what to do where no waiting helps', async () => {
    const given = waits('over_guarantee', { used: 0, asked: 2000, bound: 0, queue: 'Chen', resource: 'gpu_milli' });
    expect(await waiting('en', given)).toBe(
      'Waits: work that is not preemptible runs only inside a guarantee: it asks for 2 GPUs, and Chen is guaranteed 0 GPU. Make it preemptible, or ask for a guarantee of at least 2 GPUs for Chen.',
    );
  });

  test('keeps the words of the server where the catalogue has none', async () => {
    expect(await waiting('en', waits('from_the_future', {}))).toBe('The words of the server.');
  });

  test.each(['zh-CN', 'zh-TW'])('is said without English in %s', async (language) => {
    const bounds = {
      used: 0,
      asked: 2000,
      bound: 1000,
      queue: '陈',
      resource: 'cpu_milli',
      kept_for: 'other work',
      hold: '陈',
      level: '机架',
    };
    const kinds = [
      'limit',
      'over_guarantee',
      'kept_by_fixed_queues',
      'no_room',
      'no_domain',
      'reserved',
      'held',
      'members_leaving',
      'not_tried',
      'not_planned',
      'promised',
      'pause',
    ];
    for (const kind of kinds)
      expect(await waiting(language, waits(kind, { ...bounds, until: '2001-01-01T10:00:00Z' })), kind).not.toMatch(
        /[A-BD-OQ-TV-Za-z]{3,}/,
      );
  });
});

describe('a reason inside another', () => {
  const after = { why: 'exited', replica: 1, of: 2, exit_code: 3 };

  test.each([
    ['en', 'Replica 1 ended (Replica 1 ended with exit code 3). The other replicas are ended too.'],
    ['zh-CN', '副本 1 已结束（副本 1 以退出码 3 结束），其他副本随之结束。'],
  ])('is said in %s', async (language, words) => {
    expect(await reason(language, { why: 'member_ended', facts: { replica: 1, after } })).toBe(words);
  });

  test('of a new try has no English in Chinese', async () => {
    expect(await reason('zh-TW', { why: 'tries_again', facts: { after, number: 1, most: 2 } })).not.toMatch(latin);
  });
});

describe('a flavor that fits on no node', () => {
  const lack = (kind: string, asked = 0, most = 0, names: string[] = []): Flavor['lack'] => ({
    kind,
    asked,
    most,
    names,
    sentence: 'The words of the server.',
  });
  const flavor = (language: string, given: Flavor['lack']) =>
    said(language, () => useFlavorLack()({ lack: given }) ?? 'fits');

  test('says what it asks for and what there is', async () => {
    expect(await flavor('en', lack('devices', 6, 4))).toBe(
      'Fits on no node: it asks for 6 GPUs on one node, and the largest node has 4.',
    );
    expect(await flavor('en', lack('memory_mib', 2048, 1024))).toMatch(
      /^Fits on no node: it asks for 2\sGiB of memory on one node, and the largest node has 1\sGiB\.$/,
    );
    expect(await flavor('en', lack('from_the_future'))).toBe('The words of the server.');
    expect(await flavor('en', null)).toBe('fits');
  });

  test.each(['zh-CN', 'zh-TW'])('is said without English in %s', async (language) => {
    for (const kind of [
      'nodes',
      'taints',
      'models',
      'profile',
      'shared',
      'slice_mib',
      'devices',
      'cpu_milli',
      'memory_mib',
      'combined',
    ]) {
      expect(await flavor(language, lack(kind, 6144, 4096, ['型号'])), kind).not.toMatch(
        /(?!CPU|GPU|GiB)\b[A-Za-z]{3,}/,
      );
    }
  });
});
