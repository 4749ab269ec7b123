-- Holds: money of a wallet that is promised to an app. A hold moves no money: it lowers what is available, balance - held. A capture
-- is an ordinary debit. Every hold ends by its expires_at.
-- The defaults are stored in the catalogue only, and no index covers the column, so an update of a wallet stays a HOT update.
alter table wallets add column held bigint not null default 0 constraint wallets_held_check check (held >= 0);
alter table wallets drop constraint wallets_not_overdrawn;
alter table wallets add constraint wallets_not_overdrawn check (balance - held >= 0 or frozen_for is not null);
alter table wallets drop constraint wallets_closed_is_empty;
alter table wallets add constraint wallets_closed_is_empty check (frozen_for is distinct from 'closed' or (balance <= 0 and held = 0));

-- `held` is what was held after the operation, or when it was refused, for the answer to a repeat; null is zero. The outcome of a hold
-- has neither an entry nor a refusal. NOT VALID, so that the lock is short; the next migration checks the rows that are there.
alter table outcomes add column held bigint, add column is_hold boolean;
alter table outcomes drop constraint outcomes_transfer_or_refusal;
alter table outcomes add constraint outcomes_transfer_or_refusal
  check (num_nonnulls(sequence, refusal, is_hold) = 1 and is_hold is distinct from false) not valid;

create table holds (
  wallet_id uuid not null,
  -- The key of its reference, as in its outcome.
  id uuid not null,
  client_id text collate "C" not null,
  reference_type text not null,
  reference_id text not null,
  description text,
  amount bigint not null check (amount > 0),
  -- Of the amount: what captures took, and what a capture, a void or the expiry gave back.
  captured bigint not null default 0 check (captured >= 0),
  released bigint not null default 0 check (released >= 0),
  -- What captures took beyond the amount.
  extra bigint not null default 0 check (extra >= 0),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  closed_at timestamptz,
  ended_by text check (ended_by in ('capture', 'void', 'expiry')),
  -- How many rows of hold_steps it has.
  steps integer not null default 0,
  primary key (wallet_id, id),
  constraint holds_within_amount check (captured + released <= amount),
  constraint holds_closed_has_nothing_left check ((closed_at is null) = (captured + released < amount)),
  constraint holds_closed_has_a_cause check ((closed_at is null) = (ended_by is null)),
  constraint holds_end_within_thirty_days check (expires_at <= created_at + interval '720 hours')
) with (fillfactor = 80);
-- The open holds of a wallet: what the writer reads, and what expires.
create index holds_open on holds (wallet_id, id) where closed_at is null;
-- The holds of an app on a wallet, newest first.
create index holds_of_app on holds (wallet_id, client_id, created_at, id);

-- What happened to a hold after it was made. Append-only, as the ledger is.
create table hold_steps (
  wallet_id uuid not null,
  hold_id uuid not null,
  number integer not null check (number > 0),
  kind text not null check (kind in ('capture', 'void', 'expiry', 'extend')),
  -- What a capture took, or what a void or the expiry gave back.
  amount bigint not null check (amount >= 0),
  -- The entry of a capture.
  sequence bigint,
  -- `app:<clientId>`, `operator:<name>` or `system`.
  actor text not null,
  -- The reason of an operator.
  reason text,
  at timestamptz not null,
  primary key (wallet_id, hold_id, number),
  constraint hold_steps_capture_has_an_entry check ((kind = 'capture') = (sequence is not null))
);
create trigger hold_steps_append_only before update or delete on hold_steps for each row execute function refuse_change();
create trigger hold_steps_never_emptied before truncate on hold_steps for each statement execute function refuse_change();
revoke update, delete, truncate on hold_steps from current_user;
