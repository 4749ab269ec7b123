-- The books, and the client apps and people they belong to.

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;

-- Names and ids that are compared on the way of every debit are compared byte by byte, whatever the database's language.

-- Client apps -----------------------------------------------------------------------------------------------

create table apps (
  client_id text collate "C" primary key,
  name text not null,
  allowed_origins text[] not null default '{}',
  allowed_iframe_parents text[] not null default '{}',
  scopes text[] not null default '{}' check (scopes <@ array['wallet:read', 'wallet:write']),
  strict_references boolean not null default false,
  is_active boolean not null default true,
  accent_color text check (accent_color ~ '^#[0-9a-f]{6}$'),
  logo_url text,
  created_at timestamptz not null default now()
);

create table app_secrets (
  id uuid primary key,
  client_id text collate "C" not null references apps,
  secret_hash bytea not null check (length(secret_hash) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index app_secrets_client_id on app_secrets (client_id);

-- Kept apart from app_secrets, so that noting a use does not count as a change of the app.
create table app_secret_uses (
  secret_id uuid primary key references app_secrets on delete cascade,
  last_used_at timestamptz not null
);

-- One number that grows with every change of an app or a secret: a process holds all apps in memory and
-- asks only for this number to know whether what it holds is still true.
create table apps_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);
insert into apps_version (version) values (1);

create function bump_apps_version() returns trigger language plpgsql as $$
begin
  update apps_version set version = version + 1;
  return null;
end $$;
create trigger apps_changed after insert or update or delete on apps
  for each statement execute function bump_apps_version();
create trigger app_secrets_changed after insert or update or delete on app_secrets
  for each statement execute function bump_apps_version();

-- People ----------------------------------------------------------------------------------------------------

create table users (
  id uuid primary key,
  email text not null unique check (email = lower(email)),
  password_hash text,
  first_name text not null,
  last_name text not null,
  created_at timestamptz not null default now()
);

-- The id is the serviceUserId. A link that was disconnected stays, so that a repeated reference can still be
-- compared with its user, but it answers like an unknown one.
create table links (
  id text collate "C" primary key,
  client_id text collate "C" not null references apps,
  user_id uuid not null references users,
  created_at timestamptz not null default now(),
  disconnected_at timestamptz
);
create unique index links_live on links (client_id, user_id) where disconnected_at is null;
create index links_user_id on links (user_id);

-- The ledger ------------------------------------------------------------------------------------------------

-- A wallet has its user's id. It is active when nothing froze it; below zero it must be frozen.
-- fillfactor leaves room for heap-only updates: every debit rewrites this row.
create table wallets (
  id uuid primary key,
  balance bigint not null default 0,
  sequence bigint not null default 0 check (sequence >= 0),
  frozen_for text check (frozen_for in ('operator', 'debt')),
  frozen_reason text,
  constraint wallets_not_overdrawn check (balance >= 0 or frozen_for is not null),
  constraint wallets_balance_limit check (abs(balance) <= 999999999999999),
  constraint wallets_reason_of_freeze check (frozen_for is not null or frozen_reason is null)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create table transfers (
  wallet_id uuid not null,
  sequence bigint not null check (sequence > 0),
  amount bigint not null check (amount <> 0 and abs(amount) <= 999999999999999),
  balance_after bigint not null check (abs(balance_after) <= 999999999999999),
  reference_key uuid not null,
  created_at timestamptz not null,
  counter_account text collate "C" not null,
  reference_type text not null,
  reference_id text not null,
  description text,
  primary key (wallet_id, sequence)
) with (autovacuum_vacuum_insert_scale_factor = 0.2);

-- What the first use of a reference came to: a transfer (its sequence) or a refusal (its code).
create table outcomes (
  reference_key uuid primary key,
  wallet_id uuid not null,
  amount bigint not null check (amount <> 0),
  balance bigint not null,
  sequence bigint,
  created_at timestamptz not null,
  refusal text check (refusal in ('INSUFFICIENT_BALANCE', 'BALANCE_LIMIT')),
  constraint outcomes_transfer_or_refusal check ((sequence is null) = (refusal is not null))
) with (autovacuum_vacuum_insert_scale_factor = 0.2);

-- The other side of every transfer, a row for each counter account, day and writer: a writer adds only to its
-- own rows, so no two of them ever wait for the total of a busy app. What left the wallets minus what came
-- into them is the position.
create table positions (
  counter_account text collate "C" not null,
  day date not null,
  writer integer not null,
  debited bigint not null,
  credited bigint not null,
  transfers bigint not null,
  primary key (counter_account, day, writer)
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Later uses of a reference, one row for each different thing they asked for.
create table repeats (
  reference_key uuid not null,
  wallet_id uuid not null,
  amount bigint not null,
  times bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (reference_key, wallet_id, amount)
);

create trigger transfers_append_only before update or delete on transfers
  for each row execute function refuse_change();
create trigger transfers_never_emptied before truncate on transfers
  for each statement execute function refuse_change();
create trigger outcomes_append_only before update or delete on outcomes
  for each row execute function refuse_change();
create trigger outcomes_never_emptied before truncate on outcomes
  for each statement execute function refuse_change();

-- The audit log ---------------------------------------------------------------------------------------------

create table audit (
  id uuid primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  subject text not null,
  address text,
  detail jsonb not null default '{}'
);
create index audit_at on audit (at, id);
create index audit_subject on audit (subject, at);

create trigger audit_append_only before update or delete on audit
  for each row execute function refuse_change();
create trigger audit_never_emptied before truncate on audit
  for each statement execute function refuse_change();

revoke update, delete, truncate on transfers, outcomes, audit from public, current_user;
