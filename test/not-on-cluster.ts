/** The test files that say nothing about a cluster, and why: they are left out where TEST_DATABASE_URL names one. */
const reasons: Readonly<Record<string, string>> = {
  'src/store/writer/fast-captures.test.ts':
    'it is about a statement of one server; a cluster captures in the careful lane',
  'src/store/events/number-events.test.ts':
    'it writes the journal by statements of one server; cluster-events.test.ts tests the numbers of a cluster',
  'src/store/verify/right-stretches.test.ts': 'it is about a statement of one server',
  'src/store/embedded/': 'it is about the embedded server',
  'src/store/migrations/': 'it makes and drops whole schemas, before they are spread',
  'bench/history.test.ts': 'it fills tables before they are spread',
  'test/audit-before-effect.test.ts': 'it watches the changes of one server by triggers',
  'test/plans.test.ts': 'it reads the plans of one server',
  'test/hold-plans.test.ts': 'it reads the plans of one server',
  'src/cli/doctor.test.ts': 'it judges the role and the settings of the server that the tests bring',
  'test/postgres.test.ts': 'it is about the servers of the tests themselves',
  'test/other-postgres.test.ts': 'it is about other versions of PostgreSQL',
  'test/pgbouncer.test.ts': 'it starts PgBouncer and a server of its own',
  'test/servers.test.ts': 'it starts servers of its own',
  'test/standby.test.ts': 'it starts a server with a standby of its own',
  'test/restart.test.ts': 'it kills and restarts the embedded server',
  'test/durable.test.ts': 'it kills and restarts the embedded server',
  'test/npm-start.test.ts': 'it starts the embedded server',
  'test/readme.test.ts': 'it starts the embedded server',
  'test/admin/outages.test.ts': 'it looks at the waits of one server',
  'test/deploy/': 'it is about one server and its back-ups',
}

export function reasonToLeaveOut(path: string): string | undefined {
  const found = Object.entries(reasons).find(([prefix]) => path.startsWith(prefix))
  return found?.[1]
}
