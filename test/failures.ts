/** The names of what failed in a process of the test runner, from its output and its end. */

export type Ended = {
  /** What the runner has written. */
  readonly output: string
  readonly exitCode: number | null
  readonly signal: string | number | null
}

const fileLine = /^(\S+\.test\.tsx?):$/
const testLine = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/
/** From there on the runner repeats names. */
const repeats = /^\d+ tests? (?:skipped|failed|todo):$/
const wholeReport = /^Ran \d+ tests? across \d+ files?\./m

/** Each with its file. A process that did not report to its end is named too, with the last test that ended before. */
export function listFailures({ output, exitCode, signal }: Ended): string[] {
  const failures: string[] = []
  let file = 'before the first file'
  let last: string | undefined
  for (const line of output.split('\n')) {
    if (repeats.test(line)) break
    file = fileLine.exec(line)?.[1] ?? file
    if (line === '# Unhandled error between tests') failures.push(`an error between the tests (${file})`)
    const [, verdict, name] = testLine.exec(line) ?? []
    if (verdict === undefined) continue
    last = name
    if (verdict === 'fail') failures.push(`${name === '(unnamed)' ? 'a hook of the tests' : name} (${file})`)
  }
  const isWhole = wholeReport.test(output)
  if (isWhole && (exitCode === 0 || failures.length > 0)) return failures
  const end = signal === null ? `exit code ${exitCode}` : `signal ${signal}`
  const where = last === undefined ? 'no test had ended' : `the last test that ended is ${last}`
  return [...failures, `the process ended with ${end}${isWhole ? '' : ' before its report'}; ${where} (${file})`]
}
