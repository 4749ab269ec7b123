-- Debits and credits by hand, each for a reason and on a counter account that an operator chose. A row is written before the
-- ledger is told, and the ledger is told by the reference CORRECTION and the row's id, so that it moves money once.
create table corrections (
  id uuid primary key,
  wallet_id uuid not null references users,
  amount bigint not null check (amount <> 0),
  counter_account text collate "C" not null,
  reason text not null,
  -- The key of the transaction that it corrects, one of the same wallet.
  corrects uuid,
  state text not null check (state in ('waiting', 'approved', 'done', 'refused', 'declined', 'withdrawn')),
  needs_approval boolean not null,
  -- Actors, as in the audit log.
  asked_by text not null,
  asked_at timestamptz not null default now(),
  -- Who approved, declined or withdrew it; null while it waits, and for one that needed nobody.
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  -- The ledger's own no.
  refusal text,
  constraint corrections_account check (counter_account in ('adjustments', 'bonus') or counter_account like 'app:%'),
  -- Two people, whatever the code does: nothing that needs an approval is posted without somebody else's.
  constraint corrections_two_people check (
    not needs_approval or state not in ('approved', 'done', 'refused') or (decided_by is not null and decided_by <> asked_by)),
  constraint corrections_refusal check ((refusal is not null) = (state = 'refused'))
);
create index corrections_wallet_id on corrections (wallet_id, asked_at, id);
create index corrections_asked_at on corrections (asked_at, id);
create index corrections_open on corrections (state, asked_at) where state in ('waiting', 'approved');
create index corrections_corrects on corrections (corrects) where corrects is not null;
