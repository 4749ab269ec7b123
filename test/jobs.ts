/**
 * Which test files share a process, and in which order the processes start. The longest start first, by the seconds of
 * the last run, so that no long one is left alone at the end.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const secondsFile = join(root, 'node_modules/.cache/billfold/test-seconds.json')
/** For the first run of a clone: every file that took three seconds or longer on two cores. */
const committedFile = join(root, 'test/seconds.json')

/** Files that run in one process: starting one, with all it imports, costs a second of processor time. */
export type Job = readonly string[]

type Seconds = Readonly<Record<string, number>>

/** An import graph by regular expression: whether a file, or one that it imports, matches. */
function importsOf(matches: RegExp): (path: string) => boolean {
  const known = new Map<string, boolean>()
  return function leadsThere(path: string): boolean {
    const before = known.get(path)
    if (before !== undefined) return before
    // Until the answer is known, so that files that import each other come to an end.
    known.set(path, false)
    const text = existsSync(root + path) ? readFileSync(root + path, 'utf8') : ''
    const imported = [...text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)].map(([, to]) => join(dirname(path), to!))
    const answer = matches.test(text) || imported.some(leadsThere)
    known.set(path, answer)
    return answer
  }
}

export const needsBrowser = importsOf(/from '(@playwright\/test|playwright)/)
const startsProcesses = (path: string) => /\/(process|command|embedded-process|other-server)\.ts'/.test(textOf(path))
const textOf = (path: string) => readFileSync(root + path, 'utf8')

/** A file that was never run: a guess by what it starts. */
const guess = (path: string) => (needsBrowser(path) ? 30 : startsProcesses(path) ? 20 : 1)

function readSeconds(file: string): Seconds {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Seconds
  } catch {
    return {}
  }
}

export function keepSeconds(measured: Seconds): void {
  mkdirSync(dirname(secondsFile), { recursive: true })
  writeFileSync(secondsFile, JSON.stringify({ ...readSeconds(secondsFile), ...measured }, null, 1))
}

/** The seconds of each file in the report that the test runner writes. */
export function secondsIn(report: string): Seconds {
  const suites = report.matchAll(/^  <testsuite name="[^"]*" file="([^"]*)".* time="([\d.]+)"/gm)
  return Object.fromEntries([...suites].map(([, file, seconds]) => [file!, Number(seconds)]))
}

/** Quick files are put together up to this many seconds. */
const secondsTogether = 40

export function jobsOf(files: readonly string[]): Job[] {
  const known = { ...readSeconds(committedFile), ...readSeconds(secondsFile) }
  const secondsOf = (path: string) => known[path] ?? guess(path)
  const longest = files.toSorted((a, b) => secondsOf(b) - secondsOf(a) || a.localeCompare(b))
  const total = (job: Job) => job.reduce((sum, path) => sum + secondsOf(path), 0)
  const grouped = [true, false].flatMap((isBrowser) =>
    longest
      .filter((path) => needsBrowser(path) === isBrowser)
      .reduce<string[][]>((jobs, path) => {
        const last = jobs.at(-1)
        if (last && last.length < 40 && total(last) + secondsOf(path) <= secondsTogether) last.push(path)
        else jobs.push([path])
        return jobs
      }, []),
  )
  return grouped.toSorted((a, b) => total(b) - total(a))
}
