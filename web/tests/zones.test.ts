import { describe, expect, test } from 'vitest';
import { toField } from '../src/api/errors';
import { keys, keysOfKind } from '../src/api/keys';
import { inSeveralZones } from '../src/pages/cluster/queues/tree';
import { addZoneCommand, listCommand } from '../src/pages/cluster/zones/zone-command';
import { toGive } from '../src/pages/work/document';
import { shellWords } from '../src/pages/work/shell-words';
import {
  ANY,
  ANY_SIMULATED,
  commandOf,
  documentOf,
  isSimulated,
  poolNames,
  usual,
  valuesLike,
} from '../src/kinds/training/launch/values';
import { isChoice, isZoneReason } from '../src/pages/work/zone-reasons';

const zones = [
  { id: 'z1', name: 'local', simulated: false },
  { id: 'z2', name: 'lab', simulated: true },
  { id: 'z3', name: 'my lab', simulated: true },
];

describe('a list of one zone', () => {
  test('is the command and the call of just that zone', () => {
    expect(listCommand('nodes', zones[1])).toEqual({
      cli: 'corral node list --zone lab',
      api: 'GET /api/v1/nodes?zone=z2',
    });
    expect(listCommand('pools', zones[2]).cli).toBe("corral pool list --zone 'my lab'");
    expect(listCommand('devices', undefined)).toEqual({ cli: 'corral device list', api: 'GET /api/v1/devices' });
    expect(listCommand('zones', zones[1])).toEqual({ cli: 'corral zone list', api: 'GET /api/v1/zones' });
  });

  test('is renewed when a zone comes or goes', () => {
    for (const key of [keys.zones, keys.nodes, keys.pools, keys.queues]) expect(keysOfKind('zone')).toContain(key);
    expect(keysOfKind('node')).toContain(keys.zones);
  });
});

test('a zone is added by a command that a shell takes for exactly this', () => {
  expect(shellWords(addZoneCommand("ada's lab", '4x8xH100-80GB,2x4xL4-24GB'))).toEqual([
    'corral',
    'zone',
    'add',
    "ada's lab",
    '--simulated',
    '4x8xH100-80GB,2x4xL4-24GB',
  ]);
});

test('a problem deep inside of a description belongs to the field that it was typed into', () => {
  const values = { name: 'lab', nodes: 'nodes: [{count: 0}]', resources: { gpu: { count: 1 } } };
  expect(toField(values, ['nodes', 'nodes[0]', 'count'])).toEqual(['nodes']);
  expect(toField(values, ['nodes'])).toEqual(['nodes']);
  expect(toField(values, ['resources', 'gpu', 'count'])).toEqual(['resources', 'gpu', 'count']);
  expect(toField(values, ['resources', 'gpu', 'models'])).toEqual(['resources', 'gpu', 'models']);
  expect(toField(values, ['elsewhere', 'deep'])).toEqual(['elsewhere', 'deep']);
});

test('pools are called with their zone as soon as there are two zones', () => {
  expect(inSeveralZones([{ zone_id: 'z1' }, { zone_id: 'z1' }])).toBe(false);
  expect(inSeveralZones([{ zone_id: 'z1' }, { zone_id: 'z2' }])).toBe(true);
});

describe('the launch form', () => {
  const values = {
    ...usual,
    name: 'night',
    by: 'numbers' as const,
    gpu: 'whole' as const,
    resources: { cpu: '1', memory: '2Gi', gpu: { count: 8 } },
    command: 'python train.py',
  };
  const inLab = { ...values, zone: 'lab', simulated: true, simulation: { duration: '60s', exit_code: 0 } };

  test('knows simulated zones', () => {
    expect([ANY, 'local', 'lab', ANY_SIMULATED, 'gone'].map((zone) => isSimulated(zone, zones))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  test('leaves the zone to Corral unless one is chosen', () => {
    expect(documentOf(values)).not.toHaveProperty('zone');
    expect(documentOf(values)).not.toHaveProperty('simulation');
    expect(documentOf({ ...values, zone: 'local' })).toMatchObject({ zone: 'local' });
    expect(commandOf({ ...values, zone: 'local' }, undefined)).toContain('--zone local');
  });

  test('says in a simulated zone how long the work takes and how it ends', () => {
    expect(documentOf(inLab)).toMatchObject({
      zone: 'lab',
      simulation: { duration: '60s' },
      command: ['python', 'train.py'],
    });
    expect(documentOf(inLab).simulation).not.toHaveProperty('exit_code');
    expect(documentOf({ ...inLab, simulation: { duration: ' 2h ', exit_code: 3 } }).simulation).toEqual({
      duration: '2h',
      exit_code: 3,
    });
    const words = shellWords(commandOf(inLab, undefined)) ?? [];
    expect(words.slice(words.indexOf('--zone'), words.indexOf('--zone') + 4)).toEqual([
      '--zone',
      'lab',
      '--simulate',
      '60s',
    ]);
    expect(words).not.toContain('--no-upload');
    // The command has no option for how it ends.
    expect(commandOf({ ...inLab, simulation: { duration: '60s', exit_code: 3 } }, undefined)).toBe(
      'corral apply -f work.yaml',
    );
  });

  test('needs no command and sends no files where nothing runs', () => {
    expect(documentOf({ ...inLab, command: '' }).command).toEqual(['true']);
    expect(documentOf({ ...inLab, upload_id: 'f1' })).not.toHaveProperty('upload_id');
    expect(documentOf({ ...values, command: '' }).command).toEqual([]);
  });

  test('among simulated zones Corral may choose too', () => {
    const document = documentOf({ ...inLab, zone: ANY_SIMULATED });
    expect(document).not.toHaveProperty('zone');
    expect(document).toHaveProperty('simulation');
  });

  test('is filled from simulated work that is there, with what it uses', () => {
    const usage = { cpu_milli: null, memory_mib: null, gpu_percent: 40, gpu_memory_mib: null };
    const like = valuesLike({
      kind: 'training',
      name: 'night',
      command: ['true'],
      zone: null,
      resources: { cpu_milli: 1000, memory_mib: 2048, gpu: null },
      simulation: { duration: 60, exit_code: 3, usage },
    });
    expect(like).toMatchObject({ zone: ANY_SIMULATED, simulated: true });
    expect(documentOf(like).simulation).toEqual({ duration: '60s', exit_code: 3, usage: { gpu_percent: 40 } });
    expect(
      valuesLike({
        kind: 'training',
        name: 'night',
        command: ['true'],
        zone: 'local',
        resources: { cpu_milli: 1000, memory_mib: 2048, gpu: null },
        simulation: null,
      }),
    ).toMatchObject({ zone: 'local', simulated: false });
  });

  test('offers the pools of the zone, and of all that Corral chooses from', () => {
    const pools = [
      { name: 'default', zone_id: 'z1' },
      { name: 'dgx', zone_id: 'z1' },
      { name: 'default', zone_id: 'z2' },
      { name: 'racks', zone_id: 'z3' },
    ];
    expect(poolNames(pools, zones, { zone: ANY, simulated: false })).toEqual(['default', 'dgx']);
    expect(poolNames(pools, zones, { zone: 'lab', simulated: true })).toEqual(['default']);
    expect(poolNames(pools, zones, { zone: ANY_SIMULATED, simulated: true })).toEqual(['default', 'racks']);
  });
});

test('a document to give again has nothing that Corral added', () => {
  expect(
    toGive({
      name: 'night',
      zone: null,
      zone_reason: 'fits',
      pool_ids: [],
      simulation: null,
      flavor: 'small',
      resources: {},
    }),
  ).toEqual({ name: 'night', flavor: 'small' });
});

test('only known reasons for a zone have words', () => {
  expect([isChoice('earliest'), isChoice('moon'), isChoice(null)]).toEqual([true, false, false]);
  expect([isZoneReason('moved'), isZoneReason('fits'), isZoneReason('moon')]).toEqual([true, true, false]);
});
