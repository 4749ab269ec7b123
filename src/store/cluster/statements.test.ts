import { expect, test } from 'bun:test'
import { readMigrations } from '../migrations/migrate.ts'
import { splitStatements } from './statements.ts'

test('statements end at a semicolon that is not within a text, a name, a comment or a body', () => {
  expect(splitStatements('select 1; select 2;\n')).toEqual(['select 1', 'select 2'])
  expect(splitStatements(`select 'a;''b;'; select "c;d"`)).toEqual([`select 'a;''b;'`, 'select "c;d"'])
  expect(splitStatements('-- a; b\nselect 1; -- it’s the end;\n')).toEqual(['-- a; b\nselect 1'])
  expect(splitStatements('/* a; */ select 1 / 2 - 3;')).toEqual(['/* a; */ select 1 / 2 - 3'])
  const body = `create function f() returns int as $$ begin; return ';'; end $$ language plpgsql`
  expect(splitStatements(`${body}; select $x$ $$;$$ $x$; select $1`)).toEqual([
    body,
    'select $x$ $$;$$ $x$',
    'select $1',
  ])
  expect(splitStatements(' ;; -- nothing')).toEqual([])
})

const bare = (text: string) => text.replaceAll(/--[^\n]*|[;\s]/g, '')

test('no character of a migration is lost', async () => {
  for (const { name, sql } of await readMigrations())
    expect({ name, sql: bare(splitStatements(sql).join('')) }).toEqual({ name, sql: bare(sql) })
})
