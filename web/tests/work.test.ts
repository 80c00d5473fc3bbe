import { describe, expect, test } from 'vitest';
import { toGive, toYaml, written } from '../src/pages/work/document';
import { shellQuoted, shellWords } from '../src/pages/work/shell-words';
import { commandOf, documentOf, usual, valuesLike } from '../src/kinds/training/launch/values';
import { tarOf } from '../src/kinds/training/launch/tar';
import { plain, readLine } from '../src/pages/work/one/ansi';
import { nearest, niceTop, pieces, timeTicks } from '../src/pages/work/one/chart-scale';
import { append, empty, MOST_LINES } from '../src/pages/work/one/log-lines';
import { actionsFor } from '../src/pages/work/states';

describe('a command line', () => {
  test.each([
    ['python train.py --lr 0.1', ['python', 'train.py', '--lr', '0.1']],
    [`sh -c 'echo "a  b"; exit 3'`, ['sh', '-c', 'echo "a  b"; exit 3']],
    ['echo "a \\" b" c\\ d \'\'', ['echo', 'a " b', 'c d', '']],
    ['python \\\n  train.py', ['python', 'train.py']],
    ['  ', []],
  ])('%s is split as a shell does', (line, words) => {
    expect(shellWords(line)).toEqual(words);
  });

  test('a quote that is not closed is no command', () => {
    expect(shellWords("echo 'a")).toBeNull();
  });

  test.each(['plain', "it's", 'a b', '', '$HOME', 'é'])('%s comes back from its quotes', (word) => {
    expect(shellWords(shellQuoted(word))).toEqual([word]);
  });
});

describe('the launch form', () => {
  const values = {
    ...usual,
    name: 'fit',
    by: 'numbers' as const,
    command: 'python train.py',
    given: [{ name: 'lr', value: '1e-4' }, { name: 'tag', value: '007' }, {}],
    variables: [{ name: 'A', value: 'b c' }],
    replicas: 2,
  };

  test('becomes a document without what is as usual', () => {
    expect(documentOf(values)).toEqual({
      kind: 'training',
      name: 'fit',
      resources: { cpu: '1', memory: '2Gi', gpu: '8Gi' },
      command: ['python', 'train.py'],
      replicas: 2,
      parameters: { lr: '1e-4', tag: '007' },
      environment: { A: 'b c' },
    });
  });

  test('becomes a command that asks for the same', () => {
    const words = shellWords(commandOf(values, undefined));
    expect(words).toEqual([
      'corral',
      'run',
      '--name',
      'fit',
      '--gpu',
      '8Gi',
      '--cpu',
      '1',
      '--memory',
      '2Gi',
      '--replicas',
      '2',
      '--env',
      'A=b c',
      '--param',
      'lr=1e-4',
      '--param',
      'tag=007',
      '--no-upload',
      '--',
      'python',
      'train.py',
    ]);
    expect(commandOf({ ...values, preemptible: false }, undefined)).toBe('corral apply -f work.yaml');
  });

  test('gives what stands under its details, and only that', () => {
    const given = {
      ...values,
      gpu: 'slice' as const,
      resources: { gpu: { count: 2, memory_mib: '0.5', models: ['H100-80GB'] } },
      launch: 'torchrun' as const,
      runtime: 'vision',
      home: true,
      network: false,
      priority: 2,
      hidden: [{ name: 'HF_TOKEN', value: 'hf-token' }, { name: 'EMPTY' }],
    };
    const document = documentOf(given);
    expect(document).toMatchObject({
      resources: { gpu: { amount: '2x0.5', models: ['H100-80GB'] } },
      launch: 'torchrun',
      runtime: 'vision',
      home: true,
      network: false,
      priority: 2,
      secrets: { HF_TOKEN: 'hf-token' },
    });
    const words = shellWords(commandOf(given, undefined)) ?? [];
    expect(words.slice(words.indexOf('--gpu'), words.indexOf('--cpu'))).toEqual([
      '--gpu',
      '2x0.5',
      '--gpu-model',
      'H100-80GB',
    ]);
    expect(words.slice(words.indexOf('--secret'), words.indexOf('--no-upload'))).toEqual([
      '--secret',
      'HF_TOKEN=hf-token',
      '--runtime',
      'vision',
      '--launch',
      'torchrun',
      '--home',
      '--no-network',
      '--priority',
      '2',
    ]);
    expect(documentOf({ ...values, resources: { gpu: { memory_mib: '1g.10gb' } } }).resources?.gpu).toBe('1g.10gb');
    // What the command has no option for goes as a document.
    for (const more of [{ pools: ['dgx'] }, { grace_seconds: 120 }, { resources: { gpu: { compute_percent: 30 } } }])
      expect(commandOf({ ...values, ...more }, undefined)).toBe('corral apply -f work.yaml');
    expect(documentOf(valuesLike(document as unknown as Record<string, unknown>))).toMatchObject({
      launch: 'torchrun',
      runtime: 'vision',
      home: true,
      network: false,
      priority: 2,
      secrets: { HF_TOKEN: 'hf-token' },
    });
  });

  test('is filled from work that is there', () => {
    const document = documentOf(values);
    const stored = {
      ...document,
      resources: { cpu_milli: 1000, memory_mib: 2048, gpu: { count: 1, memory_mib: 8192 } },
      flavor: null,
      preemptible: true,
      retries: 0,
    };
    expect(documentOf(valuesLike(stored))).toEqual({
      ...document,
      resources: { cpu: '1', memory: '2048Mi', gpu: '8192Mi' },
    });
  });
});

describe('an archive of files', () => {
  const text = (content: string) => ({ size: content.length, content: new Blob([content]) });

  test('has a header, the content in whole blocks, and an end', async () => {
    const bytes = new Uint8Array(await tarOf([{ path: 'train.py', ...text('print(1)') }]).arrayBuffer());
    const read = (from: number, length: number) =>
      new TextDecoder().decode(bytes.slice(from, from + length)).replace(/\0.*$/s, '');
    expect(bytes.length).toBe(4 * 512);
    expect([read(0, 100), read(124, 12), read(257, 6), read(512, 8)]).toEqual([
      'train.py',
      '00000000010',
      'ustar',
      'print(1)',
    ]);
    const sum = bytes.slice(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    expect(parseInt(read(148, 8), 8)).toBe(sum);
  });

  test('keeps names of any length and script', async () => {
    const archive = await tarOf([{ path: `資料/${'a'.repeat(120)}.txt`, ...text('x') }]).text();
    expect(archive).toContain(`141 path=資料/${'a'.repeat(120)}.txt\n`);
  });
});

describe('amounts in a document', () => {
  const shown = (resources: Record<string, unknown>) => toYaml(toGive({ resources }));

  test('are written as the command and the API read them, without a quote that changes them', () => {
    expect(
      shown({ cpu_milli: 500, memory_mib: 1024, gpu: { count: 2, memory_mib: null, compute_percent: 0, models: [] } }),
    ).toBe('resources:\n  cpu: 0.5\n  memory: 1Gi\n  gpu: 2\n');
    expect(shown({ cpu_milli: 290, memory_mib: 1500, gpu: { count: 1, memory_mib: 8192 } })).toBe(
      'resources:\n  cpu: 0.29\n  memory: 1500Mi\n  gpu: 8Gi\n',
    );
    expect(shown({ cpu_milli: 1, memory_mib: 1, gpu: { count: 2, fraction_milli: 250 } })).toBe(
      'resources:\n  cpu: 0.001\n  memory: 1Mi\n  gpu: "2x0.25"\n',
    );
    expect(shown({ cpu_milli: 1000, memory_mib: 1, gpu: { count: 1, profile: '1g.10gb' } })).toBe(
      'resources:\n  cpu: 1\n  memory: 1Mi\n  gpu: "1g.10gb"\n',
    );
    expect(
      shown({ cpu_milli: 1000, memory_mib: 1, gpu: { count: 1, memory_mib: 512, models: ['H100-80GB'] } }),
    ).toContain('gpu:\n    count: 1\n    memory_mib: 512\n');
  });

  test('of the form are the same in its YAML', () => {
    expect(toYaml(written(documentOf({ ...usual, by: 'numbers', name: 'x', command: 'true' }) as never))).toContain(
      'resources:\n  cpu: "1"\n  memory: 2Gi\n  gpu: 8Gi\n',
    );
  });
});

describe('a document', () => {
  test('is written as YAML with quotes where a word could mean something else', () => {
    expect(
      toYaml({ name: 'yes', command: ['python', '-c', 'print(1)\n'], gpu: { count: 1 }, note: 'a: b', empty: {} }),
    ).toBe(
      'name: "yes"\ncommand:\n  - python\n  - "-c"\n  - "print(1)\\n"\ngpu:\n  count: 1\nnote: "a: b"\nempty: {}\n',
    );
  });

  test('is given again without what Corral added', () => {
    expect(
      toGive({
        name: 'fit',
        flavor: 'gpu-8g',
        resources: { cpu_milli: 1 },
        pool_ids: [],
        priority: 1,
        upload_id: null,
      }),
    ).toEqual({ name: 'fit', flavor: 'gpu-8g', priority: 1 });
  });
});

describe('output', () => {
  const shown = (text: string) => readLine(text, plain).spans;

  test('colours are looks, and nothing of it is markup', () => {
    expect(shown('\u001b[1;31mbad\u001b[0m <b>x</b>')).toEqual([
      { text: 'bad', look: 'a-red a-bold' },
      { text: ' <b>x</b>', look: '' },
    ]);
    expect(shown('\u001b[38;5;2mok\u001b[38;2;1;2;3mrgb')).toEqual([
      { text: 'ok', look: 'a-green' },
      { text: 'rgb', look: '' },
    ]);
  });

  test('what moves the cursor or sets a title is dropped, and a progress bar shows its last state', () => {
    expect(shown('\u001b]0;title\u0007a\u001b[2Kb\u0008')).toEqual([
      { text: 'a', look: '' },
      { text: 'b', look: '' },
    ]);
    expect(shown('10 %\r50 %\r')).toEqual([{ text: '50 %', look: '' }]);
  });

  test('what hides or turns text around is spelled out', () => {
    expect(shown('good \u202eevil\u202c \u200btext')).toEqual([
      { text: 'good \\u202eevil\\u202c \\u200btext', look: '' },
    ]);
    expect(shown('\u009b31mred\u009d0;title\u009cx')).toEqual([
      { text: 'red', look: 'a-red' },
      { text: 'x', look: 'a-red' },
    ]);
  });

  test('a line without an end is shown in pieces', () => {
    const long = append(append(empty, { text: 'x'.repeat(40_000), dropped: 0, earlier: false }), {
      text: 'y',
      dropped: 0,
      earlier: false,
    });
    expect(long.open.length).toBeLessThan(16_384);
    expect(long.lines.map((line) => (line.kind === 'text' ? line.text.length : 0))).toEqual([16_384, 16_384, 7_233]);
  });

  test('parts that break a line anywhere make the same lines', () => {
    const texts = (parts: string[]) =>
      parts
        .reduce((state, text) => append(state, { text, dropped: 0, earlier: false }), empty)
        .lines.map((line) => (line.kind === 'text' ? line.text : line.kind));
    expect(texts(['one\ntw', 'o\n\u001b[3', '1mthree\n'])).toEqual(['one', 'two', 'three']);
    expect(texts(['one\ntwo\n\u001b[31mthree\n'])).toEqual(['one', 'two', 'three']);
  });

  test('a gap stands where it is, and old lines make room', () => {
    const gap = append(append(empty, { text: 'a\n', dropped: 0, earlier: false }), {
      text: 'b\n',
      dropped: 5000,
      earlier: false,
    });
    expect(gap.lines.map((line) => line.kind)).toEqual(['text', 'gap', 'text']);
    const many = append(empty, { text: 'x\n'.repeat(MOST_LINES + 10), dropped: 0, earlier: false });
    expect(many.lines.length).toBe(MOST_LINES + 1);
    expect(many.lines[0]?.kind).toBe('earlier');
  });
});

describe('charts', () => {
  test('scales end at round numbers', () => {
    expect([0, 0.043, 0.9, 3, 63.5, 100].map(niceTop)).toEqual([1, 0.05, 1, 4, 100, 100]);
  });

  test('lines break where nothing was sampled', () => {
    const points = [0, 1, 2, 9, 10].map((at) => ({ at, value: at }));
    expect(pieces(points, 3).map((piece) => piece.length)).toEqual([3, 2]);
    const attempts = [
      { at: 0, value: 1, attempt: 1 },
      { at: 900, value: 1, attempt: 1 },
      { at: 901, value: 1, attempt: 2 },
    ];
    expect(pieces(attempts, Infinity).map((piece) => piece.length)).toEqual([2, 1]);
    expect(niceTop(1.7e308)).toBe(Number.MAX_VALUE);
    expect(nearest(points, 5, 1)).toBeNull();
    expect(nearest(points, 8, 3)?.at).toBe(9);
  });

  test('ticks are few and at whole times', () => {
    const from = Date.parse('2026-11-16T08:12:34Z');
    const ticks = timeTicks(from, from + 3 * 3_600_000, 6);
    expect(ticks.length).toBeLessThanOrEqual(7);
    expect(ticks.every((at) => at % 1_800_000 === 0)).toBe(true);
  });
});

test('what can be asked of work depends on its state', () => {
  expect(actionsFor({ state: 'running', wanted: 'run' })).toEqual(['suspend', 'stop']);
  expect(actionsFor({ state: 'suspended', wanted: 'suspend' })).toEqual(['resume', 'stop']);
  expect(actionsFor({ state: 'failed', wanted: 'run' })).toEqual(['resume', 'delete']);
  expect(actionsFor({ state: 'stopping', wanted: 'stop' })).toEqual([]);
  expect(actionsFor({ state: 'succeeded', wanted: 'run' })).toEqual(['delete']);
});
