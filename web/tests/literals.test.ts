// Every word on screen comes from the catalogues: no text literal may hide in a component.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const source = resolve(import.meta.dirname, '../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
  .map((name) => join(source, name));

/** Properties whose text a person reads. */
const shown = new Set([
  'title',
  'label',
  'placeholder',
  'alt',
  'aria-label',
  'aria-description',
  'description',
  'text',
  'note',
  'subtitle',
  'okText',
  'cancelText',
  'message',
  'extra',
  'hint',
  'action',
  'keep',
  'what',
]);
const letters = /^(?!#[0-9A-F]{6,8}$).*\p{L}{2,}/su;
const han = /\p{Script=Han}/u;

function literalsOf(text: string, name: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && letters.test(node.text)) found.push(node.text.trim());
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) ||
      ts.isTemplateTail(node)
    ) {
      const parent = node.parent;
      if (han.test(node.text)) found.push(node.text);
      else if (
        letters.test(node.text) &&
        (isShownAttribute(parent) || (ts.isJsxExpression(parent) && !ts.isJsxAttribute(parent.parent)))
      )
        found.push(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isShownAttribute(node: ts.Node): boolean {
  const attribute = ts.isJsxExpression(node) ? node.parent : node;
  if (ts.isJsxAttribute(attribute)) return shown.has(attribute.name.getText());
  return ts.isPropertyAssignment(attribute) && shown.has(attribute.name.getText());
}

test('the check finds literals in text, attributes, expressions and Chinese anywhere', () => {
  expect(literalsOf('<p>Hello there</p>', 'a.tsx')).toEqual(['Hello there']);
  expect(literalsOf('<p title="Hello">{1}</p>', 'a.tsx')).toEqual(['Hello']);
  expect(literalsOf("<p>{'Hello'}</p>", 'a.tsx')).toEqual(['Hello']);
  expect(literalsOf("const words = ['你好'];", 'a.tsx')).toEqual(['你好']);
  expect(literalsOf('<p className="row">{t("a.b")} · /</p>', 'a.tsx')).toEqual([]);
});

test('no component holds text of its own', () => {
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap((name) =>
    literalsOf(readFileSync(name, 'utf8'), name).map((text) => `${name.slice(source.length + 1)}: ${text}`),
  );
  expect(found).toEqual([]);
});
