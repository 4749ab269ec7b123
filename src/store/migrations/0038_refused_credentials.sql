-- When an operator ended a secret. Null for one that is valid, or whose overlap after a rotation ended.
alter table app_secrets add column revoked_at timestamptz;
update app_secrets s set revoked_at = a.at
from audit a
where a.subject = 'app:' || s.client_id and a.action = 'app.secret-revoked' and a.detail->>'secretId' = s.id::text
  and s.expires_at = a.at;

-- Calls that got 401 INVALID_CLIENT, by cause and address. Counted in memory; each process adds its counts every minute. A wrong
-- secret is not stored, neither as text nor as a hash: the fingerprint is of a secret that the service issued.
create table refused_credentials (
  client_id text collate "C" not null references apps,
  cause text not null check (cause in ('missing', 'wrong', 'revoked', 'expired', 'inactive')),
  -- Empty when the call had no secret of this app.
  fingerprint text not null check (fingerprint ~ '^([0-9a-f]{4})?$'),
  -- Empty for all addresses that have no row.
  address text not null,
  calls bigint not null check (calls > 0),
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (client_id, cause, fingerprint, address),
  check ((fingerprint = '') = (cause in ('missing', 'wrong')))
);
create index refused_credentials_last_at on refused_credentials (last_at);
