import { describe, expect, test } from 'vitest';
import { linksCsv } from '../src/pages/organisation/people/import-words';
import { commandOf as peopleCommand } from '../src/pages/organisation/people/filters';
import schema from '../src/api/schema.d.ts?raw';
import en from '../src/i18n/en.json';
import zhCn from '../src/i18n/zh-CN.json';
import zhTw from '../src/i18n/zh-TW.json';
import { areaOf, areas, inOrder } from '../src/pages/organisation/roles-known';
import { fieldChanges } from '../src/pages/security/changes';
import { commandOf as auditCommand, exportAddress } from '../src/pages/security/filters';

describe('what an entry of the audit log changed', () => {
  test('a changed value is told with what it was and what it is', () => {
    expect(fieldChanges({ priority: 1 }, { priority: 3 })).toEqual({
      changed: [{ field: 'priority', gone: [1], come: [3] }],
      same: [],
    });
  });

  test('of a list only the members that came or went are told', () => {
    const { changed } = fieldChanges(
      { permissions: ['people.read', 'people.invite'] },
      { permissions: ['people.read', 'audit.read'] },
    );
    expect(changed).toEqual([{ field: 'permissions', gone: ['people.invite'], come: ['audit.read'] }]);
  });

  test('what stayed the same is named apart', () => {
    expect(fieldChanges({ name: 'Teacher', description: '' }, { name: 'Lecturer', description: '' })).toEqual({
      changed: [{ field: 'name', gone: ['Teacher'], come: ['Lecturer'] }],
      same: ['description'],
    });
  });

  test('a new thing says nothing by fields that were left empty', () => {
    expect(fieldChanges(null, { name: 'mei', mail: null })).toEqual({
      changed: [{ field: 'name', gone: [], come: ['mei'] }],
      same: [],
    });
  });

  test('a value that was emptied is told', () => {
    expect(fieldChanges({ mail: 'mei@example.org' }, { mail: null }).changed).toEqual([
      { field: 'mail', gone: ['mei@example.org'], come: [null] },
    ]);
  });
});

describe('login links as CSV', () => {
  const row = (display_name: string) => ({
    line: 2,
    name: 'mei',
    display_name,
    mail: null,
    result: 'create' as const,
    problems: [],
    login_link: { url: 'http://127.0.0.1:8710/login#once=x', secret: 'x', expires_at: '2026-11-22T00:00:00Z' },
  });

  test('a name that a spreadsheet would take for a formula is kept from running', () => {
    expect(linksCsv([row('=HYPERLINK("http://example.org")')])).toContain(`mei,"'=HYPERLINK(""http://example.org"")",`);
  });

  test('people who existed before have no link and no line', () => {
    expect(linksCsv([{ ...row('Mei'), result: 'add', login_link: null }])).toBe(
      'name,display_name,mail,login_link,expires_at\n',
    );
  });
});

describe('what you see you can script', () => {
  test('the list of people with its filters', () => {
    const { cli, api } = peopleCommand(
      { organisation: 'o1', state: 'disabled', search: 'mei ling', sort: 'display_name' },
      'Vision Lab',
    );
    expect(cli).toBe('corral user list --org "Vision Lab" --state disabled --search "mei ling"');
    expect(api).toBe('GET /api/v1/users?organisation=o1&state=disabled&search=mei+ling&sort=display_name');
  });

  test('the audit log with several actions', () => {
    const filters = { action: ['user.change', 'grant.create'], result: 'refused' as const };
    expect(auditCommand(filters).cli).toBe(
      'corral audit list --action user.change --action grant.create --result refused',
    );
    expect(exportAddress(filters, 'csv')).toBe(
      '/api/v1/audit/export?action=user.change&action=grant.create&result=refused&format=csv',
    );
  });
});

describe('every permission that the API knows', () => {
  const listed = /^ +Permission: (.+);$/m.exec(schema)?.[1] ?? '';
  const permissions = [...listed.matchAll(/"([a-z.]+)"/g)].map(([, name]) => name as Parameters<typeof areaOf>[0]);

  test('is found in the generated types', () => {
    expect(permissions).toContain('workloads.run');
    expect(permissions.length).toBeGreaterThan(20);
  });

  test.each(permissions)('%s stands in an area of the role form, with words in three languages', (permission) => {
    const [area, verb] = permission.split('.') as [string, string];
    expect(areas).toContain(areaOf(permission));
    for (const words of [en, zhTw, zhCn]) {
      expect((words.roles.area as Record<string, string>)[area]).toBeTruthy();
      expect((words.permission as Record<string, Record<string, string>>)[area]?.[verb]).toBeTruthy();
    }
  });

  test('comes after those that only look', () => {
    for (const area of areas) {
      const here = inOrder(permissions).filter((one) => areaOf(one) === area);
      expect(here.at(0)).toBe(`${area}.read`);
    }
  });
});

test('permissions are told by area, from looking to changing', () => {
  expect(inOrder(['audit.read', 'people.manage', 'organisations.read', 'people.read'])).toEqual([
    'organisations.read',
    'people.read',
    'people.manage',
    'audit.read',
  ]);
});
