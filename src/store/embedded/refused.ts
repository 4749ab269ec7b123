/** Embedded PostgreSQL cannot run here. The message is one sentence for the operator: why, and what would change that. */
export class EmbeddedRefused extends Error {
  override name = 'EmbeddedRefused'
}

/** One sentence that names the folder, from the lines that PostgreSQL and the system wrote. */
export function explainFailure(output: string, databaseDir: string): string {
  const known: [RegExp, string][] = [
    [/no space left on device|disk quota exceeded/i, `The disk that holds ${databaseDir} is full.`],
    [/read-only file system/i, `The disk that holds ${databaseDir} is mounted read-only.`],
    [
      /could not look up effective user id (\d+)/i,
      `This user id has no name on this machine, and PostgreSQL needs one to create a database: run as a user listed in /etc/passwd.`,
    ],
    [
      /could not (?:map anonymous|create) shared memory|cannot allocate memory/i,
      `There is not enough memory to start PostgreSQL.`,
    ],
    [
      /pre-existing shared memory block|lock file "[^"]*" already exists/i,
      `Another PostgreSQL server is still using ${databaseDir}: stop it first.`,
    ],
    [/permission denied/i, `PostgreSQL may not read or write ${databaseDir}: check who owns it and what is in it.`],
  ]
  for (const [pattern, sentence] of known) {
    if (pattern.test(output)) return sentence
  }
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const worst = lines.findLast((line) => /FATAL|PANIC|error:/.test(line)) ?? lines.at(-1) ?? 'it said nothing'
  return `PostgreSQL could not start in ${databaseDir}: ${worst.replace(/^.*(?:FATAL|PANIC|error):\s*/, '')}`
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
