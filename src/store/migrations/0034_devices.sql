-- A browser in which the user signed in inside the widget. The browser holds the token; it counts only together with a session of
-- the same user, and it proves the person, which a session alone does not.
create table devices (
  id uuid primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  user_id uuid not null references users (id),
  -- The app whose widget the user signed in through.
  client_id text not null references apps (client_id),
  browser text,
  address_hash bytea not null check (length(address_hash) = 32),
  created_at timestamptz not null default now(),
  -- Null until the first use: a browser that kept no cookie never uses its token. Later written at most once an hour.
  last_used_at timestamptz,
  expires_at timestamptz not null,
  -- When the password was last given on this device.
  password_at timestamptz,
  revoked_at timestamptz
);
create index devices_user_id on devices (user_id, expires_at);
create index devices_expires_at on devices (expires_at);

-- A link to a paper ends with the session and the device it was made with. Null in links of older processes, which newer ones refuse.
alter table paper_links add column session_hash bytea check (length(session_hash) = 32);
alter table paper_links add column device_id uuid;
