/** Every guard that has mutants. */
import { bookGuards } from './book-guards.ts'
import { edgeGuards } from './edge-guards.ts'
import { eventGuards } from './event-guards.ts'
import { operatorGuards } from './operator-guards.ts'
import { periodGuards } from './period-guards.ts'
import { proofGuards } from './proof-guards.ts'
import { writerGuards } from './writer-guards.ts'

export const guards = [
  ...bookGuards,
  ...edgeGuards,
  ...eventGuards,
  ...operatorGuards,
  ...periodGuards,
  ...proofGuards,
  ...writerGuards,
]
