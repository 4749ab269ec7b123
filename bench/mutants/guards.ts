/** Every guard that has mutants. */
import { bookGuards } from './book-guards.ts'
import { doorGuards } from './door-guards.ts'
import { edgeGuards } from './edge-guards.ts'
import { eventGuards } from './event-guards.ts'
import { operatorGuards } from './operator-guards.ts'
import { periodGuards } from './period-guards.ts'
import { processGuards } from './process-guards.ts'
import { proofGuards } from './proof-guards.ts'
import { writerGuards } from './writer-guards.ts'

export const guards = [
  ...bookGuards,
  ...doorGuards,
  ...edgeGuards,
  ...eventGuards,
  ...operatorGuards,
  ...periodGuards,
  ...processGuards,
  ...proofGuards,
  ...writerGuards,
]
