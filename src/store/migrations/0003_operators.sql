-- The admin area: who may sign in, what they look for, and what the service tells them about itself.

-- Operators -------------------------------------------------------------------------------------------------

create table operators (
  id uuid primary key,
  email text not null unique check (email = lower(email)),
  name text not null,
  role text not null check (role in ('viewer', 'admin')),
  password_hash text not null,
  -- Base32. Null until the operator has shown a first code; until then what is being set up is the pending one.
  totp_secret text,
  totp_pending text,
  -- The time step of the last code that was accepted: no code of that step or an earlier one is accepted again.
  totp_step bigint not null default 0,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  signed_in_at timestamptz
);

create table operator_recovery_codes (
  operator_id uuid not null references operators on delete cascade,
  code_hash bytea not null check (length(code_hash) = 32),
  used_at timestamptz,
  primary key (operator_id, code_hash)
);

-- A session that has not shown its second factor yet can do nothing but show it.
create table operator_sessions (
  id uuid primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  operator_id uuid not null references operators on delete cascade,
  stage text not null check (stage in ('code', 'enrol', 'full')),
  created_at timestamptz not null,
  seen_at timestamptz not null,
  ends_at timestamptz not null,
  address text not null,
  browser text not null
);
create index operator_sessions_operator_id on operator_sessions (operator_id);
create index operator_sessions_ends_at on operator_sessions (ends_at);

-- A one-time link: it makes a new operator, or gives an old one a new password and second factor.
create table operator_invites (
  token_hash bytea primary key check (length(token_hash) = 32),
  operator_id uuid references operators on delete cascade,
  role text not null check (role in ('viewer', 'admin')),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

-- Forms whose answer shows a secret once: sent again, they do nothing.
create table operator_forms (
  id uuid primary key,
  subject text not null,
  sent_at timestamptz not null default now()
);

-- Looking for people and wallets ----------------------------------------------------------------------------

-- By the beginning of an email or a name. In byte order, so that the same index finds the beginning and pages on
-- from any row; extensions that find the middle of a word are not on every server.
create index users_email_search on users ((email collate "C"), id);
create index users_name_search on users ((lower(first_name || ' ' || last_name) collate "C"), id);
create index users_last_name_search on users ((lower(last_name || ' ' || first_name) collate "C"), id);
-- Its predicate's column is written back unchanged by every debit, so updates stay heap-only.
create index wallets_frozen on wallets (id) where frozen_for is not null;

create index audit_actor on audit (actor, at, id);
create index audit_action on audit (action, at, id);

-- The state of the service ----------------------------------------------------------------------------------

-- The continuous check of the books: one row, which all processes read and one at a time carries on.
create table books_check (
  only_row boolean primary key default true check (only_row),
  -- Where the round that is going on stands; null between rounds.
  cursor jsonb,
  round_started_at timestamptz,
  next_slice_at timestamptz not null default now(),
  wallets_checked bigint not null default 0,
  transfers_checked bigint not null default 0,
  -- Found in this round, and what the last whole round found.
  problems jsonb not null default '[]',
  last_problems jsonb not null default '[]',
  last_round_at timestamptz,
  last_round_ms bigint,
  last_wallets bigint,
  last_transfers bigint,
  -- The two sides against each other, at one moment.
  wallets_sum numeric,
  positions_sum numeric,
  sums_at timestamptz
);
insert into books_check default values;

-- What each process did in each minute, written every few seconds, kept for two days.
create table minutes (
  minute timestamptz not null,
  process uuid not null,
  requests integer not null,
  faults integer not null,
  debits integer not null,
  credits integer not null,
  refusals integer not null,
  -- Requests by how long they took: the buckets of billfold_http_request_seconds.
  took integer[] not null,
  widgets integer not null,
  primary key (minute, process)
);
