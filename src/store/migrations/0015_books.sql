-- The check of the books follows what changed, from a point of each wallet up to which its ledger was found right.

-- Written by the check alone: a debit knows nothing of it. A wallet that was found wrong has no row, and is looked at from
-- the beginning of its ledger until it is right again.
create table verified_wallets (
  wallet_id uuid primary key,
  sequence bigint not null,
  balance bigint not null
) with (fillfactor = 70);

alter table books_check
  -- All that is known to be wrong is in `problems` now; each part of the check replaces what it has looked at again.
  drop column last_problems,
  -- Both sides against each other; the sums themselves were there before.
  add column next_sums_at timestamptz not null default now(),
  -- The pass over the wallets that changed: where it stands, null between two; since when, how many of them it has looked at
  -- so far, and what the last whole one did. Every entry from before checked_up_to was looked at.
  add column pass jsonb,
  add column pass_started_at timestamptz,
  add column next_pass_at timestamptz not null default now(),
  add column pass_wallets bigint not null default 0,
  add column pass_entries bigint not null default 0,
  add column checked_up_to timestamptz,
  add column last_pass_ms bigint,
  add column last_pass_wallets bigint,
  add column last_pass_entries bigint,
  -- Of the round over everything: what the entries of each account from before round_day add up to so far.
  add column round_day date,
  add column round_sums jsonb not null default '{}';
