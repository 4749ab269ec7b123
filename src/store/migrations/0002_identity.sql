-- How people prove who they are, and what a widget may do for a few minutes.

-- A sign-up whose email is not confirmed yet. It is no user: whoever types in a stranger's email makes no account
-- and no wallet. The password is forgotten (null) once two sign-ups of one email disagree about it, because the code
-- that is mailed proves the mailbox, and not which of the two the mailbox's owner chose.
create table sign_ups (
  email text primary key,
  password_hash text,
  first_name text not null,
  last_name text not null,
  expires_at timestamptz not null
);
create index sign_ups_expires_at on sign_ups (expires_at);

-- The newest code mailed to an address, for each purpose. Rows are made for unknown addresses too, so that asking
-- for a code costs the same whether or not there is somebody to mail it to.
create table mailed_codes (
  email text not null,
  purpose text not null check (purpose in ('confirm', 'reset')),
  id uuid not null,
  code_hash text not null,
  tries integer not null default 0,
  expires_at timestamptz not null,
  primary key (email, purpose)
);
create index mailed_codes_expires_at on mailed_codes (expires_at);

-- Attempts in a window of time, by a hash of what is limited. Every process counts here.
create table limits (
  key bytea primary key check (length(key) = 32),
  count integer not null,
  ends_at timestamptz not null
);
create index limits_ends_at on limits (ends_at);

-- Where a user signed in from before: a stranger's failures never hold up these.
create table user_addresses (
  user_id uuid not null references users,
  address_hash bytea not null check (length(address_hash) = 32),
  last_at timestamptz not null,
  primary key (user_id, address_hash)
);

-- A one-time proof, for an app's backend, that the user of a browser owns a link.
create table link_codes (
  code_hash bytea primary key check (length(code_hash) = 32),
  link_id text not null references links,
  client_id text not null references apps,
  expires_at timestamptz not null
);
create index link_codes_expires_at on link_codes (expires_at);
create index link_codes_link_id on link_codes (link_id);

-- Widget sessions. An ended one stays for a day, so that its page can still be framed and can explain itself.
create table widget_sessions (
  token_hash bytea primary key check (length(token_hash) = 32),
  client_id text not null references apps,
  link_id text not null references links,
  user_id uuid not null references users,
  parent_origin text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index widget_sessions_expires_at on widget_sessions (expires_at);
