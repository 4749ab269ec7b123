-- What the card processor says of its own account, held against the ledger, day by day.

-- One row for each booking in the processor's account. Amounts are signed as that account moves: a charge is above zero, a refund
-- below, and one that failed above again.
create table processor_lines (
  id text collate "C" primary key,
  processor text not null check (processor in ('stripe', 'sandbox')),
  kind text not null check (kind in ('charge', 'refund', 'dispute', 'fee', 'payout', 'other')),
  payment_intent_id text collate "C",
  -- False when the processor knows that the payment was not made by this service.
  is_ours boolean not null,
  amount bigint not null,
  fee bigint not null,
  created_at timestamptz not null
);
create index processor_lines_created_at on processor_lines (created_at);
create index processor_lines_payment on processor_lines (payment_intent_id);

create index topup_movements_posted_at on topup_movements (posted_at);

-- The days, by UTC, whose lines were or are to be read.
create table reconciliation_days (
  day date primary key,
  source text not null default 'processor' check (source in ('processor', 'file')),
  -- Where the listing stands, for whoever goes on with it.
  cursor text,
  tries integer not null default 0,
  -- Until then it is somebody else's work, or not worth another try.
  next_try_at timestamptz not null default now(),
  problem text,
  -- When both sides were last compared; null while there is something to read.
  finished_at timestamptz
);

-- What the two sides say otherwise of a payment, all its bookings of the kind together.
create table reconciliation_differences (
  payment_intent_id text collate "C" not null,
  kind text not null check (kind in ('charge', 'refund', 'dispute')),
  day date not null,
  processor_amount bigint not null,
  ledger_amount bigint not null,
  found_at timestamptz not null,
  resolved_at timestamptz,
  primary key (payment_intent_id, kind)
);
create index reconciliation_differences_open on reconciliation_differences (day) where resolved_at is null;
