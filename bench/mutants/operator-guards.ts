/** The guards of operators' access: who gives it, who approves it, where links go. */
import type { Guarded } from './run.ts'

const fourEyes = 'src/admin/operators/four-eyes.test.ts'
const independence = 'src/actions/operators/independence.test.ts'
const personalData = 'src/admin/wallet/personal-data.test.ts'
const deletionProcesses = 'test/deletion-processes.test.ts'
const area = 'operators'

export const operatorGuards: readonly Guarded[] = [
  {
    area,
    file: 'src/actions/operators/change-operators.ts',
    tests: [fourEyes],
    mutants: [
      [`if (!isStillAdmin(all, actor)) return { kind: 'problem', problem: 'no-right' }`, ``],
      [`if (!isStillAdmin(all, actor)) return refuse('no-right')`, ``],
      [`if (!isStillAdmin(all, { name: askedBy, address: null })) return refuse('asker-left')`, ``],
      [`(o.isActive || o.suspendedAt !== null)`, `o.isActive`],
      [`if (!(await isAdminThrough(db, other.id, actor.name))) return true`, `if (other) return true`],
      [`if (isOwn && (change.kind === 'remove' || change.kind === 'role')) return false`, ``],
      [`if (isOwn !== (state === 'withdrawn')) return refuse(isOwn ? 'own' : 'not-own')`, ``],
      [`if (waiting.state !== 'waiting')`, `if (waiting.state === 'withdrawn')`],
      [`if (dependence) return { kind: 'dependent', dependence }`, ``],
      [`if (isLastAdmin(all, operator)) return 'last-admin'`, ``],
      [`if (!invite?.createdBy.startsWith('operator:')) return 'unknown'`, `if (!invite) return 'unknown'`],
      [`>= maxWaitingChanges`, `> 1_000_000`],
      [`JSON.stringify(before.change) === JSON.stringify(change) &&`, ``],
      [
        `way === 'mail' ? await takeLimit(service, changesAnHour, actor.name) : undefined`,
        `way !== 'mail' ? await takeLimit(service, changesAnHour, actor.name) : undefined`,
      ],
    ],
  },
  {
    area,
    file: 'src/actions/operators/apply-change.ts',
    tests: [fourEyes],
    mutants: [
      [`if (!access.isActive) await deleteOperatorSessions(tx, id)`, ``],
      [`const requests = mayInvite ? 0 : await updateChangesAskedBy(tx, subject, actor.name)`, `const requests = 0`],
      [`if (way === 'command line') await addNotice(tx, behind, 'reset', operator)`, ``],
      [`if (behind.approvedBy === null) await updateChangeOvertaken(tx, change, behind.actor.name)`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/operators/manage-operators.ts',
    tests: [fourEyes],
    mutants: [
      [`email: invite.email ?? input.email`, `email: input.email`],
      [`await addOperatorMail(tx, { kind: 'renewed', operatorId: id, by: createdBy, approvedBy, role })`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/operators/independence.ts',
    tests: [independence],
    mutants: [
      [`actor.startsWith('cli:') ? 'cli' : actor`, `actor`],
      [`(person === 'cli' && other.grants.length > 0) || `, ``],
      [`Math.min(way.endsAtMs, grant.endsAt.getTime())`, `grant.endsAt.getTime()`],
      [`Math.min(way.endsAtMs, other.endsAtMs)`, `Math.max(way.endsAtMs, 0)`],
      [`[grant.madeBy, grant.approvedBy ?? grant.madeBy]`, `[grant.madeBy]`],
      [`grant.isFresh && grant.kind`, `grant.kind`],
      [`kind === 'invited' || kind === 'role'`, `kind !== 'created'`],
    ],
  },
  {
    area,
    file: 'src/actions/money/correct-wallet.ts',
    tests: [independence],
    mutants: [[`if (dependence) return { problem: 'dependent', dependence }`, ``]],
  },
  {
    area,
    file: 'src/store/operator-access/operator-invites.ts',
    tests: [fourEyes],
    mutants: [[`i.email is not null and exists`, `exists`]],
  },
  {
    area,
    file: 'src/store/operator-access/operator-grants.ts',
    tests: [independence],
    mutants: [[`in (b.made_by, b.approved_by)`, `in (b.kind)`]],
  },
  {
    area,
    file: 'src/store/migrations/0032_operator_changes.sql',
    tests: [fourEyes],
    mutants: [
      [`or (decided_by is not null and decided_by <> asked_by)`, `or decided_by is not null`],
      [`if old.state = 'waiting' and (old.id, old.kind`, `if old.state = 'waiting' or (old.id, old.kind`],
    ],
  },
  {
    area,
    file: 'src/actions/mails/send-mail.ts',
    tests: [fourEyes],
    mutants: [[`...(!hasLink && { text })`, `text`]],
  },
  {
    area,
    file: 'src/actions/people/request-deletion.ts',
    tests: [personalData],
    mutants: [
      [`if (isOwn !== (state === 'withdrawn')) return refuse(isOwn ? 'own' : 'not-own')`, ``],
      [`return dependence && { kind: 'dependent', dependence }`, `return undefined`],
      [`if (!mayDecide(all, askedBy)) return refuse('asker-left')`, ``],
      [`if (!mayDecide(all, actor.name)) return refuse('no-right')`, ``],
      [`if (asked?.userId !== userId) return refuse('unknown')`, `if (!asked) return refuse('unknown')`],
      [`if (before !== 'waiting')`, `if (before === 'expired')`],
      [`return refuse(before === 'expired' ? 'expired' : 'decided')`, `return refuse('decided')`],
      [`before.askedBy === actor.name && before.reason === reason`, `before.askedBy === actor.name`],
      [`if (kept) return { kind: 'kept', reason: kept }\n    if ((await`, `if ((await`],
      [`if (refused) return refused\n    // With another`, `// With another`],
      [`if (!(await findReasonNow(pool, userId))) await cancelOpenTopups(service, actor, userId)`, ``],
      [`>= maxWaitingDeletions`, `> 1_000_000`],
      [`if (!user) return refuse('decided')`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/people/delete-account.ts',
    tests: [personalData, deletionProcesses],
    mutants: [
      [`reasonOf((await lockWallet(tx, user.id))!) ?? (await findUnresolved(tx, user.id))`, `undefined`],
      [`await updateDeletionOvertaken(tx, userId, actor.name)`, ``],
      [`await addFarewell(tx, reader, notification)`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/people/export-data.ts',
    tests: [personalData],
    mutants: [
      [`const limited = await takeLimit(service, personRequests, personOf(actor.name))`, `const limited = undefined`],
      [' && { address, detail }),', ' || { address, detail }),'],
    ],
  },
  {
    area,
    file: 'src/store/migrations/0039_user_deletions.sql',
    tests: [personalData],
    mutants: [
      [`or (decided_by is not null and decided_by <> asked_by)`, `or decided_by is not null`],
      [`if old.state = 'waiting' and (old.id`, `if old.state = 'waiting' or (old.id`],
    ],
  },
]
