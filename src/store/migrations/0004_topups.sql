-- Card top-ups: what was asked of the card processor, what it said last, and what the ledger was told of it.

create table topups (
  id uuid primary key,
  user_id uuid not null references users,
  -- The app whose widget it was made in; its pages may frame the card form.
  client_id text not null references apps,
  processor text not null check (processor in ('stripe', 'sandbox')),
  -- Null until the processor has answered. A payment that nobody was told of cannot be paid.
  payment_intent_id text unique,
  amount bigint not null check (amount > 0),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  state text not null default 'created' check (state in ('created', 'processing', 'succeeded', 'failed', 'cancelled')),
  -- What movements were planned for so far; each grows and falls only together with a row of topup_movements.
  credited bigint not null default 0,
  refunded bigint not null default 0,
  disputed bigint not null default 0,
  dispute text not null default 'none' check (dispute in ('none', 'open', 'won', 'lost')),
  decline_code text,
  -- Declines as we saw them when we asked, and as the processor told of them: the same ones, so the larger counts.
  declines_seen integer not null default 0,
  declines_told integer not null default 0,
  declined_at timestamptz,
  -- Why an operator has to look: money came that must not be credited.
  problem text check (problem in ('mismatch', 'credit-refused')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- An unpaid one is cancelled after this.
  expires_at timestamptz not null,
  -- One more with every answer of the processor that was written down: an answer that was asked for before
  -- another one was written down is thrown away.
  version bigint not null default 0,
  -- When the sweeper asks about it again, and how often it did in a row without news; null when there is nothing to ask.
  look_at timestamptz,
  looks integer not null default 0,
  constraint topups_credited_whole check (credited in (0, amount)),
  constraint topups_never_below_zero check (refunded >= 0 and disputed >= 0 and refunded + disputed <= credited)
);
create index topups_look_at on topups (look_at) where look_at is not null;
create index topups_user_id on topups (user_id, created_at);
create index topups_created_at on topups (created_at, id);
create index topups_problem on topups (created_at) where problem is not null;

-- What the ledger is to be told, decided under the lock of the top-up and posted afterwards by its reference, by
-- whoever comes first and however often.
create table topup_movements (
  topup_id uuid not null references topups,
  number integer not null check (number > 0),
  reference_type text not null,
  reference_id text not null,
  amount bigint not null check (amount <> 0),
  created_at timestamptz not null,
  posted_at timestamptz,
  refusal text,
  primary key (topup_id, number),
  unique (reference_type, reference_id)
);
create index topup_movements_unposted on topup_movements (topup_id) where posted_at is null;

-- The processor's events about our top-ups. Each counts once, however often it is sent.
create table processor_events (
  id text primary key,
  topup_id uuid not null references topups,
  type text not null,
  received_at timestamptz not null
);
create index processor_events_topup_id on processor_events (topup_id);
create index processor_events_received_at on processor_events (received_at);

-- The sandbox processor's own records; opaque to everyone else.
create table sandbox_payments (
  id text primary key,
  version integer not null,
  document text not null,
  created_at timestamptz not null,
  due_at timestamptz
);
create index sandbox_payments_due_at on sandbox_payments (due_at) where due_at is not null;
create index sandbox_payments_created_at on sandbox_payments (created_at);
