/** `npm run bench`: its own database, service and load; every figure is a ratio of alternating rounds of this run. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { measureBatches } from './batches.ts'
import { measureBooks } from './books.ts'
import { rehearseLife } from './cluster-life.ts'
import { drawComparison } from './comparison.ts'
import { measureEvents } from './events.ts'
import { runFaults } from './faults/run.ts'
import { measureGrowth } from './growth.ts'
import { measureHolds } from './holds.ts'
import { measureLatency } from './latency.ts'
import { measureLimits } from './limits.ts'
import { measure } from './measure.ts'
import { runMutants } from './mutants/run.ts'
import { measureNodes } from './nodes.ts'
import { parseOptions, usage, type Options } from './options.ts'
import { measureProofs } from './proofs.ts'
import { isBusy, reportText } from './report.ts'
import { onStage, resultsDir } from './stage.ts'
import { measureTenants } from './tenants.ts'

const [first, ...rest] = process.argv.slice(2)
if (first === 'faults') process.exitCode = (await runFaults(rest)) ? 0 : 1
else if (first === 'books') await measureBooks(rest)
else if (first === 'latency') process.exitCode = (await measureLatency(rest)) ? 0 : 1
else if (first === 'limits') process.exitCode = (await measureLimits(rest)) ? 0 : 1
else if (first === 'events') process.exitCode = (await measureEvents(rest)) ? 0 : 1
else if (first === 'holds') process.exitCode = (await measureHolds(rest)) ? 0 : 1
else if (first === 'proofs') process.exitCode = (await measureProofs(rest)) ? 0 : 1
else if (first === 'mutants') process.exitCode = (await runMutants(rest)) ? 0 : 1
else if (first === 'tenants') process.exitCode = (await measureTenants(rest)) ? 0 : 1
else if (first === 'nodes') process.exitCode = (await measureNodes(rest)) ? 0 : 1
else if (first === 'batches') process.exitCode = (await measureBatches(rest)) ? 0 : 1
else if (first === 'cluster-life') process.exitCode = (await rehearseLife(rest)) ? 0 : 1
else if (first === '--growth') process.exitCode = (await measureGrowth(rest)) ? 0 : 1
else {
  const options = parseOptions(process.argv.slice(2))
  if (!options) console.log(usage)
  else await run(options)
}
process.exit()

async function run(options: Options): Promise<void> {
  await onStage(async (stage) => {
    const report = await measure(options, stage, (text) => console.log(text))
    console.log(`\n${reportText(report)}`)
    const name = options.isQuick ? 'quick' : 'full'
    await writeFile(join(resultsDir, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`)
    // The committed chart shows only full runs on a quiet machine.
    const pictureDir = options.isQuick || isBusy(report.rounds) ? 'bench/results' : 'bench'
    await writeFile(join(import.meta.dir, '..', pictureDir, 'comparison.svg'), drawComparison(report))
    console.log(`\nwritten: bench/results/${name}.json, ${pictureDir}/comparison.svg`)
    if (report.faults.length > 0) process.exitCode = 1
  })
}
