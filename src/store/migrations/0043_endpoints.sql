-- Endpoints: where an app's events are posted to. Only operators add them: a leaked client secret must not redirect the events.
create table endpoints (
  id text collate "C" primary key,
  client_id text collate "C" not null references apps (client_id),
  url text not null,
  -- Null for every type, also for types that later versions add.
  types text[] check (cardinality(types) > 0),
  -- Sealed.
  secret text not null,
  -- Signs beside the new one until it ends.
  old_secret text,
  old_secret_ends_at timestamptz,
  created_at timestamptz not null default now(),
  -- Every event up to this number was delivered, set aside as a piece of work, or is of another type.
  delivered_up_to bigint not null check (delivered_up_to >= 0),
  -- The last number that a failed run considered: only events above it may be tried before the next probe.
  considered_up_to bigint not null default 0,
  failing_since timestamptz,
  -- Different events that failed since the last success. With three, the endpoint is ill, and gets one probe at a time.
  failed_events integer not null default 0,
  -- Failed runs since the last success, for the back-off.
  probes integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_error text,
  last_success_at timestamptz,
  -- Mails about the present failure: after an hour, after a day, at the end.
  mails_sent integer not null default 0 check (mails_sent between 0 and 3),
  disabled_at timestamptz,
  disabled_for text check (disabled_for in ('operator', 'gone', 'failing')),
  lease uuid,
  leased_until timestamptz,
  check ((disabled_at is null) = (disabled_for is null)),
  check ((old_secret is null) = (old_secret_ends_at is null))
);
create index endpoints_of_app on endpoints (client_id);

-- What people read about an endpoint: every failure, and some successes of each second.
create table endpoint_attempts (
  endpoint_id text collate "C" not null references endpoints (id) on delete cascade,
  serial bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  number bigint not null,
  -- Null when there was no answer.
  status integer,
  took_ms integer not null,
  error text,
  primary key (endpoint_id, serial)
);
