-- Operators who sign in with the company's own account. Such an operator may have no password.
alter table operators alter column password_hash drop not null;

-- One identity of the provider is one operator. It is never found by email: another person may get an address later.
create table operator_identities (
  issuer text not null check (length(issuer) between 1 and 500),
  subject text not null check (length(subject) between 1 and 255),
  operator_id uuid not null references operators (id),
  created_at timestamptz not null default now(),
  used_at timestamptz,
  primary key (issuer, subject),
  unique (operator_id, issuer)
);

-- A sign-in that was sent to the provider. Its answer counts once, and only in the browser that began.
create table oidc_starts (
  state_hash bytea primary key check (length(state_hash) = 32),
  browser_hash bytea not null check (length(browser_hash) = 32),
  purpose text not null check (purpose in ('sign-in', 'connect', 'accept')),
  -- Of `connect`: the session in which the operator asked for it.
  session_id uuid check ((session_id is not null) = (purpose = 'connect')),
  -- Of `accept`: the one-time link that is accepted with the account.
  invite_hash bytea check (length(invite_hash) = 32),
  next text not null,
  expires_at timestamptz not null,
  check ((invite_hash is not null) = (purpose = 'accept'))
);
create index oidc_starts_expires_at on oidc_starts (expires_at);
