-- The schema as the migrations leave it, written by src/store/migrations/schema.test.ts (UPDATE=1). Do not edit: add a migration.

CREATE OR REPLACE FUNCTION adopt_grant()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform grant_of(new.action, new.actor, new.subject, new.detail, new.at);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION adopt_work()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  key text;
  due timestamptz;
  since timestamptz := now();
begin
  if tg_argv[0] = 'resolve-topup' then
    key := new.id; due := new.look_at; new.look_at := null;
  elsif tg_argv[0] = 'send-mail' then
    key := new.fact; due := new.due_at; since := new.created_at; new.due_at := null;
  elsif tg_argv[0] = 'reconcile-day' then
    key := to_char(new.day, 'YYYY-MM-DD'); due := new.next_try_at; new.next_try_at := 'infinity';
    if new.finished_at is not null then return new; end if;
  elsif tg_argv[0] = 'find-first-payment' then
    key := new.link_id; due := new.look_at; new.look_at := 'infinity';
  elsif tg_argv[0] = 'deliver-sandbox-webhook' then
    key := new.id; due := new.due_at; new.due_at := null;
  else
    key := new.id; due := coalesce(new.decided_at, now()) + interval '15 seconds';
  end if;
  insert into work (kind, key, due_at, created_at) values (tg_argv[0], key, due, since)
  on conflict on constraint work_pkey do update
    set due_at = least(work.due_at, excluded.due_at), is_requested = true, given_up_at = null;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION archived_between(low uuid, high uuid)
 RETURNS TABLE(wallet_id uuid, amount bigint, balance bigint, refusal text, held bigint, is_hold boolean)
 LANGUAGE plpgsql
 STABLE ROWS 1
AS $function$
declare
  low_bits constant bit varying := substring(('x' || replace(low::text, '-', ''))::bit(128) from 1 for 88);
  high_bits constant bit varying := substring(('x' || replace(high::text, '-', ''))::bit(128) from 1 for 88);
  archive integer;
  block record;
  prefix bit varying;
  key_width integer;
  width integer;
  first integer;
  beyond integer;
  middle integer;
  rest bit varying;
  number integer;
  moved bigint;
begin
  for archive in select a.closing_id from archives a order by 1 loop
    select r.* into block from archived_references r where r.closing_id = archive and r.first_key <= high order by r.first_key desc limit 1;
    continue when not found;
    prefix := substring(('x' || replace(block.first_key::text, '-', ''))::bit(128) from 1 for block.prefix_bits);
    key_width := 88 - block.prefix_bits;
    width := key_width + block.wallet_bits + block.amount_bits + block.balance_bits + block.held_bits;
    -- The last record up to high is the one before `first`.
    first := 0;
    beyond := block.keys;
    while first < beyond loop
      middle := (first + beyond) / 2;
      if prefix || substring(block.bits from middle * width + 1 for key_width) <= high_bits then
        first := middle + 1;
      else
        beyond := middle;
      end if;
    end loop;
    continue when first = 0 or prefix || substring(block.bits from (first - 1) * width + 1 for key_width) < low_bits;
    rest := substring(block.bits from (first - 1) * width + key_width + 1 for width - key_width);
    number := substring(rest from 1 for block.wallet_bits)::bigint;
    select w.ids[number % 100 + 1] into wallet_id from archived_wallet_ids w where w.closing_id = archive and w.part = number / 100;
    moved := substring(rest from block.wallet_bits + 1 for block.amount_bits)::bigint;
    amount := (moved >> 3) * (1 - 2 * ((moved >> 2) & 1));
    refusal := case moved & 3 when 1 then 'INSUFFICIENT_BALANCE' when 2 then 'BALANCE_LIMIT' end;
    is_hold := case moved & 3 when 3 then true end;
    moved := substring(rest from block.wallet_bits + block.amount_bits + 1 for block.balance_bits)::bigint;
    balance := (moved >> 1) * (1 - 2 * (moved & 1));
    held := substring(rest from block.wallet_bits + block.amount_bits + block.balance_bits + 1 for block.held_bits)::bigint;
    return next;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION archived_outcomes(keys uuid[])
 RETURNS TABLE(reference_key uuid, wallet_id uuid, amount bigint, balance bigint, refusal text, held bigint, is_hold boolean)
 LANGUAGE plpgsql
 STABLE ROWS 1
AS $function$
begin
  if exists (select from archives) then
    return query select k.asked, a.wallet_id, a.amount, a.balance, a.refusal, a.held, a.is_hold
      from unnest(keys) as k(asked) cross join lateral archived_between(k.asked, k.asked) a;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bump_apps_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update apps_version set version = version + 1;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION grant_of(action text, actor text, subject text, detail jsonb, at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into operator_grants (operator_id, kind, at, made_by)
  select o.id, g.kind, $5, case g.kind when 'renewed' then coalesce(
      (select r.made_by from operator_grants r where r.operator_id = o.id and r.kind = 'reset' and r.at <= $5 order by r.at desc limit 1),
      $2) else $2 end
  from operators o cross join lateral (select case
      when $1 = 'operator.created' then case when $2 like 'operator:%' then 'invited' else 'created' end
      when $1 = 'operator.reset' then 'reset'
      when $1 = 'operator.renewed' then 'renewed'
      when $4->'from'->>'role' <> $4->'to'->>'role' then 'role'
      when $4->'from'->>'isActive' = 'false' and $4->'to'->>'isActive' = 'true' then 'restored' end as kind) g
  where 'operator:' || o.id = $3 and g.kind is not null
  on conflict do nothing;
end $function$;

CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION refuse_other_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.state = 'waiting' and (old.id, old.kind, old.operator_id, old.email, old.role, old.asked_by, old.asked_at)
    is not distinct from (new.id, new.kind, new.operator_id, new.email, new.role, new.asked_by, new.asked_at)
  then return new; end if;
  raise exception 'The content of a requested change is not changed, and a decision is final.';
end $function$;

CREATE OR REPLACE FUNCTION refuse_other_deletion()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.state = 'waiting' and (old.id, old.user_id, old.reason, old.asked_by, old.asked_at, old.expires_at)
    is not distinct from (new.id, new.user_id, new.reason, new.asked_by, new.asked_at, new.expires_at)
  then return new; end if;
  raise exception 'The content of a requested deletion is not changed, and a decision is final.';
end $function$;

CREATE OR REPLACE FUNCTION wallet_clock(wallet_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  return clock_timestamp();
end $function$;

create table apps (
  client_id text collate "C" not null,
  name text not null,
  allowed_origins text[] not null default '{}'::text[],
  allowed_iframe_parents text[] not null default '{}'::text[],
  scopes text[] not null default '{}'::text[],
  strict_references boolean not null default false,
  is_active boolean not null default true,
  accent_color text,
  logo_url text,
  created_at timestamp with time zone not null default now(),
  max_operations integer,
  has_events boolean not null default false,
  constraint apps_pkey PRIMARY KEY (client_id),
  constraint apps_accent_color_check CHECK ((accent_color ~ '^#[0-9a-f]{6}$'::text)),
  constraint apps_max_operations_check CHECK (((max_operations >= 1) AND (max_operations <= 1000000))),
  constraint apps_scopes_check CHECK ((scopes <@ ARRAY['wallet:read'::text, 'wallet:write'::text]))
);
CREATE TRIGGER apps_changed AFTER INSERT OR DELETE OR UPDATE ON apps FOR EACH STATEMENT EXECUTE FUNCTION bump_apps_version();

create table app_calls (
  client_id text collate "C" not null,
  hour timestamp with time zone not null,
  route text not null,
  code text not null,
  calls bigint not null,
  last_at timestamp with time zone not null,
  constraint app_calls_pkey PRIMARY KEY (client_id, hour, route, code),
  constraint app_calls_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id)
);
CREATE INDEX app_calls_hour ON app_calls USING btree (hour);

create table app_links (
  client_id text collate "C" not null,
  links bigint not null,
  counted_at timestamp with time zone not null,
  constraint app_links_pkey PRIMARY KEY (client_id),
  constraint app_links_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id)
);

create table app_secrets (
  id uuid not null,
  client_id text collate "C" not null,
  secret_hash bytea not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint app_secrets_pkey PRIMARY KEY (id),
  constraint app_secrets_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint app_secrets_secret_hash_check CHECK ((length(secret_hash) = 32))
);
CREATE INDEX app_secrets_client_id ON app_secrets USING btree (client_id);
CREATE TRIGGER app_secrets_changed AFTER INSERT OR DELETE OR UPDATE ON app_secrets FOR EACH STATEMENT EXECUTE FUNCTION bump_apps_version();

create table app_secret_uses (
  secret_id uuid not null,
  last_used_at timestamp with time zone not null,
  constraint app_secret_uses_pkey PRIMARY KEY (secret_id),
  constraint app_secret_uses_secret_id_fkey FOREIGN KEY (secret_id) REFERENCES app_secrets(id) ON DELETE CASCADE
);

create table apps_version (
  only_row boolean not null default true,
  version bigint not null,
  constraint apps_version_pkey PRIMARY KEY (only_row),
  constraint apps_version_only_row_check CHECK (only_row)
);

create table audit (
  id uuid not null,
  at timestamp with time zone not null default now(),
  actor text not null,
  action text not null,
  subject text not null,
  address text,
  detail jsonb not null default '{}'::jsonb,
  constraint audit_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_action ON audit USING btree (action, at, id);
CREATE INDEX audit_actor ON audit USING btree (actor, at, id);
CREATE INDEX audit_at ON audit USING btree (at, id);
CREATE INDEX audit_subject ON audit USING btree (subject, at);
CREATE TRIGGER audit_adopt_grant AFTER INSERT ON audit FOR EACH ROW WHEN ((new.action = ANY (ARRAY['operator.created'::text, 'operator.reset'::text, 'operator.renewed'::text, 'operator.access-changed'::text]))) EXECUTE FUNCTION adopt_grant();
CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on audit from current_user;

create table billfold_migrations (
  number integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  constraint billfold_migrations_pkey PRIMARY KEY (number)
);

create table books_check (
  only_row boolean not null default true,
  cursor jsonb,
  round_started_at timestamp with time zone,
  next_slice_at timestamp with time zone not null default now(),
  wallets_checked bigint not null default 0,
  transfers_checked bigint not null default 0,
  problems jsonb not null default '[]'::jsonb,
  last_round_at timestamp with time zone,
  last_round_ms bigint,
  last_wallets bigint,
  last_transfers bigint,
  wallets_sum numeric,
  positions_sum numeric,
  sums_at timestamp with time zone,
  next_sums_at timestamp with time zone not null default now(),
  pass jsonb,
  pass_started_at timestamp with time zone,
  next_pass_at timestamp with time zone not null default now(),
  pass_wallets bigint not null default 0,
  pass_entries bigint not null default 0,
  checked_up_to timestamp with time zone,
  last_pass_ms bigint,
  last_pass_wallets bigint,
  last_pass_entries bigint,
  round_day date,
  round_sums jsonb not null default '{}'::jsonb,
  rewrites bigint,
  is_hurried boolean not null default false,
  log_cursor jsonb,
  next_log_at timestamp with time zone not null default now(),
  log_checked_at timestamp with time zone,
  log_checked_size bigint,
  constraint books_check_pkey PRIMARY KEY (only_row),
  constraint books_check_only_row_check CHECK (only_row)
);

create table closings (
  id integer not null,
  closed_at timestamp with time zone not null default clock_timestamp(),
  mark uuid not null default gen_random_uuid(),
  transfers bigint,
  outcomes bigint,
  indexed_at timestamp with time zone,
  constraint closings_pkey PRIMARY KEY (id),
  constraint closings_counted CHECK ((num_nonnulls(transfers, outcomes, indexed_at) = ANY (ARRAY[0, 3]))),
  constraint closings_id_check CHECK ((id > 0)),
  constraint closings_outcomes_check CHECK ((outcomes >= 0)),
  constraint closings_transfers_check CHECK ((transfers >= 0))
);

create table archives (
  closing_id integer not null,
  archived_at timestamp with time zone not null default clock_timestamp(),
  sha256 text not null,
  refusals bigint not null,
  holds bigint not null,
  carried jsonb not null,
  constraint archives_pkey PRIMARY KEY (closing_id),
  constraint archives_closing_id_fkey FOREIGN KEY (closing_id) REFERENCES closings(id),
  constraint archives_holds_check CHECK ((holds >= 0)),
  constraint archives_refusals_check CHECK ((refusals >= 0)),
  constraint archives_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);

create table closed_references (
  closing_id integer not null,
  part integer not null,
  bytes bytea not null,
  constraint closed_references_pkey PRIMARY KEY (closing_id, part),
  constraint closed_references_closing_id_fkey FOREIGN KEY (closing_id) REFERENCES closings(id),
  constraint closed_references_bytes_check CHECK (((octet_length(bytes) >= 32) AND (octet_length(bytes) <= 1048576))),
  constraint closed_references_part_check CHECK ((part >= 0))
);

create table code_handles (
  handle_hash bytea not null,
  email text not null,
  purpose text not null,
  code_hash text not null,
  tries integer not null default 0,
  expires_at timestamp with time zone not null,
  constraint code_handles_pkey PRIMARY KEY (handle_hash),
  constraint code_handles_purpose_check CHECK ((purpose = ANY (ARRAY['confirm'::text, 'reset'::text])))
);
CREATE INDEX code_handles_email ON code_handles USING btree (email, purpose);
CREATE INDEX code_handles_expires_at ON code_handles USING btree (expires_at);

create table endpoints (
  id text collate "C" not null,
  client_id text collate "C" not null,
  url text not null,
  types text[],
  secret text,
  old_secret text,
  old_secret_ends_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  delivered_up_to bigint not null,
  considered_up_to bigint not null default 0,
  failing_since timestamp with time zone,
  failed_events integer not null default 0,
  probes integer not null default 0,
  next_attempt_at timestamp with time zone not null default now(),
  last_error text,
  last_success_at timestamp with time zone,
  mails_sent integer not null default 0,
  disabled_at timestamp with time zone,
  disabled_for text,
  lease uuid,
  leased_until timestamp with time zone,
  constraint endpoints_pkey PRIMARY KEY (id),
  constraint endpoints_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint endpoints_check CHECK (((disabled_at IS NULL) = (disabled_for IS NULL))),
  constraint endpoints_check1 CHECK (((old_secret IS NULL) = (old_secret_ends_at IS NULL))),
  constraint endpoints_delivered_up_to_check CHECK ((delivered_up_to >= 0)),
  constraint endpoints_disabled_for_check CHECK ((disabled_for = ANY (ARRAY['operator'::text, 'gone'::text, 'failing'::text, 'secret-lost'::text]))),
  constraint endpoints_enabled_has_secret CHECK (((secret IS NOT NULL) OR (disabled_at IS NOT NULL))),
  constraint endpoints_mails_sent_check CHECK (((mails_sent >= 0) AND (mails_sent <= 3))),
  constraint endpoints_types_check CHECK ((cardinality(types) > 0))
);
CREATE INDEX endpoints_of_app ON endpoints USING btree (client_id);

create table endpoint_attempts (
  endpoint_id text collate "C" not null,
  serial bigint not null generated always as identity,
  at timestamp with time zone not null default clock_timestamp(),
  number bigint not null,
  status integer,
  took_ms integer not null,
  error text,
  constraint endpoint_attempts_pkey PRIMARY KEY (endpoint_id, serial),
  constraint endpoint_attempts_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoints(id) ON DELETE CASCADE
);

create table event_cursors (
  writer integer not null,
  numbered_up_to bigint not null,
  constraint event_cursors_pkey PRIMARY KEY (writer)
);

create table event_heads (
  client_id text collate "C" not null,
  last bigint not null,
  constraint event_heads_pkey PRIMARY KEY (client_id),
  constraint event_heads_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint event_heads_last_check CHECK ((last > 0))
);

create table event_pages (
  client_id text collate "C" not null,
  first bigint not null,
  count integer not null,
  writer integer not null,
  serial bigint not null,
  at timestamp with time zone not null,
  constraint event_pages_pkey PRIMARY KEY (client_id, first),
  constraint event_pages_writer_serial_key UNIQUE (writer, serial),
  constraint event_pages_count_check CHECK (((count >= 1) AND (count <= 64))),
  constraint event_pages_first_check CHECK ((first > 0))
);
CREATE INDEX event_pages_at ON event_pages USING brin (at) WITH (pages_per_range='64', autosummarize='on');

create table hold_steps (
  wallet_id uuid not null,
  hold_id uuid not null,
  number integer not null,
  kind text not null,
  amount bigint not null,
  sequence bigint,
  actor text not null,
  reason text,
  at timestamp with time zone not null,
  captured bigint,
  remaining bigint,
  expires_at timestamp with time zone,
  constraint hold_steps_pkey PRIMARY KEY (wallet_id, hold_id, number),
  constraint hold_steps_amount_check CHECK ((amount >= 0)),
  constraint hold_steps_capture_has_an_entry CHECK (((kind = 'capture'::text) = (sequence IS NOT NULL))),
  constraint hold_steps_kind_check CHECK ((kind = ANY (ARRAY['capture'::text, 'void'::text, 'expiry'::text, 'extend'::text, 'expiring'::text]))),
  constraint hold_steps_number_check CHECK ((number > 0))
);
CREATE INDEX hold_steps_of_entry ON hold_steps USING btree (wallet_id, sequence) WHERE (sequence IS NOT NULL);
CREATE TRIGGER hold_steps_append_only BEFORE DELETE OR UPDATE ON hold_steps FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER hold_steps_never_emptied BEFORE TRUNCATE ON hold_steps FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on hold_steps from current_user;

create table holds (
  wallet_id uuid not null,
  id uuid not null,
  client_id text collate "C" not null,
  reference_type text not null,
  reference_id text not null,
  description text,
  amount bigint not null,
  captured bigint not null default 0,
  released bigint not null default 0,
  extra bigint not null default 0,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  ended_by text,
  steps integer not null default 0,
  initial_expires_at timestamp with time zone,
  notice_at timestamp with time zone,
  is_closed boolean not null default false,
  constraint holds_pkey PRIMARY KEY (wallet_id, is_closed, id),
  constraint holds_amount_check CHECK ((amount > 0)),
  constraint holds_captured_check CHECK ((captured >= 0)),
  constraint holds_closed_has_a_cause CHECK (((closed_at IS NULL) = (ended_by IS NULL))),
  constraint holds_closed_has_a_time CHECK (((closed_at IS NOT NULL) OR (NOT is_closed))),
  constraint holds_closed_has_nothing_left CHECK (((closed_at IS NULL) = ((captured + released) < amount))),
  constraint holds_end_within_thirty_days CHECK ((expires_at <= (created_at + '720:00:00'::interval))),
  constraint holds_ended_by_check CHECK ((ended_by = ANY (ARRAY['capture'::text, 'void'::text, 'expiry'::text]))),
  constraint holds_extra_check CHECK ((extra >= 0)),
  constraint holds_released_check CHECK ((released >= 0)),
  constraint holds_within_amount CHECK (((captured + released) <= amount))
) with (fillfactor = 80);
CREATE INDEX holds_closed_of_app ON holds USING btree (wallet_id, client_id, created_at, id) WHERE (closed_at IS NOT NULL);
CREATE INDEX holds_notice ON holds USING btree (notice_at) WHERE ((notice_at IS NOT NULL) AND (closed_at IS NULL));
CREATE INDEX holds_open_of_app ON holds USING btree (client_id, expires_at, id) WHERE (closed_at IS NULL);

create table journal (
  writer integer not null,
  serial bigint not null generated by default as identity,
  client_id text collate "C" not null,
  fact text,
  at timestamp with time zone not null default clock_timestamp(),
  link_ids uuid[] not null,
  sequences bigint[] not null,
  awaits_number boolean not null default false,
  hold_ids uuid[],
  constraint journal_pkey PRIMARY KEY (writer, serial)
);
CREATE INDEX journal_at ON journal USING brin (at) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX journal_awaiting ON journal USING btree (serial) WHERE awaits_number;

create table limits (
  key bytea not null,
  count integer not null,
  ends_at timestamp with time zone not null,
  constraint limits_pkey PRIMARY KEY (key),
  constraint limits_key_check CHECK ((length(key) = 32))
);
CREATE INDEX limits_ends_at ON limits USING btree (ends_at);

create table log_checkpoints (
  origin text collate "C" not null,
  size bigint not null,
  note text not null,
  at timestamp with time zone not null default clock_timestamp(),
  constraint log_checkpoints_pkey PRIMARY KEY (origin, size)
);
CREATE INDEX log_checkpoints_at ON log_checkpoints USING btree (at, size);
CREATE TRIGGER log_checkpoints_append_only BEFORE DELETE OR UPDATE ON log_checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_checkpoints_never_emptied BEFORE TRUNCATE ON log_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on log_checkpoints from current_user;

create table log_days (
  day date not null,
  leaf bigint not null,
  salt bytea not null,
  wallets numeric not null,
  accounts text[] collate "C" not null,
  marks bytea not null,
  version smallint not null default 1,
  constraint log_days_pkey PRIMARY KEY (day),
  constraint log_days_marks_check CHECK ((octet_length(marks) =
CASE version
    WHEN 1 THEN (6 * cardinality(accounts))
    ELSE (32 * (cardinality(accounts) + 1))
END)),
  constraint log_days_salt_check CHECK ((octet_length(salt) = 32)),
  constraint log_days_version_check CHECK ((version = ANY (ARRAY[1, 2])))
);
CREATE UNIQUE INDEX log_days_leaf ON log_days USING btree (leaf);
CREATE TRIGGER log_days_append_only BEFORE DELETE OR UPDATE ON log_days FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_days_never_emptied BEFORE TRUNCATE ON log_days FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on log_days from current_user;

create table log_incarnations (
  number bigint not null,
  id text collate "C" not null,
  previous text collate "C" not null,
  reason text not null,
  note text,
  at timestamp with time zone not null default clock_timestamp(),
  constraint log_incarnations_pkey PRIMARY KEY (number),
  constraint log_incarnations_id_key UNIQUE (id),
  constraint log_incarnations_reason_check CHECK ((reason = ANY (ARRAY['moved'::text, 'behind'::text, 'key-lost'::text])))
);
CREATE TRIGGER log_incarnations_append_only BEFORE DELETE OR UPDATE ON log_incarnations FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_incarnations_never_emptied BEFORE TRUNCATE ON log_incarnations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on log_incarnations from current_user;

create table log_leaves (
  number bigint not null,
  size bigint,
  subject uuid,
  kind text not null,
  hash bytea not null,
  marks bytea,
  constraint log_leaves_pkey PRIMARY KEY (number),
  constraint log_leaves_hash_check CHECK ((octet_length(hash) = 32)),
  constraint log_leaves_kind_check CHECK ((kind = ANY (ARRAY['wallet'::text, 'audit'::text, 'books'::text, 'incarnation'::text]))),
  constraint log_leaves_marks_check CHECK (((octet_length(marks) % 4) = 0))
);
CREATE UNIQUE INDEX log_leaves_audit ON log_leaves USING btree (subject) WHERE (kind = 'audit'::text);
CREATE INDEX log_leaves_few ON log_leaves USING btree (number) WHERE (kind = ANY (ARRAY['books'::text, 'incarnation'::text]));
CREATE INDEX log_leaves_states ON log_leaves USING btree (subject, number) WHERE (kind = 'wallet'::text);
CREATE TRIGGER log_leaves_append_only BEFORE DELETE OR UPDATE ON log_leaves FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_leaves_never_emptied BEFORE TRUNCATE ON log_leaves FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on log_leaves from current_user;

create table log_publications (
  target text collate "C" not null,
  origin text collate "C",
  size bigint,
  published_at timestamp with time zone,
  failing_since timestamp with time zone,
  error text,
  contradiction text,
  constraint log_publications_pkey PRIMARY KEY (target)
);

create table log_state (
  id text collate "C" not null,
  is_only boolean not null default true,
  key text,
  size bigint not null default 0,
  peaks bytea not null default '\x'::bytea,
  pass_from uuid,
  pass_started_at timestamp with time zone,
  next_pass_at timestamp with time zone not null default now(),
  sealed_up_to timestamp with time zone,
  audit_up_to timestamp with time zone,
  home text collate "C",
  constraint log_state_pkey PRIMARY KEY (id),
  constraint log_state_is_only_key UNIQUE (is_only),
  constraint log_state_is_only_check CHECK (is_only),
  constraint log_state_peaks_check CHECK ((octet_length(peaks) = (32 * bit_count(int8send(size)))))
);

create table log_subtrees (
  level smallint not null,
  number bigint not null,
  hash bytea not null,
  constraint log_subtrees_pkey PRIMARY KEY (level, number),
  constraint log_subtrees_hash_check CHECK ((octet_length(hash) = 32))
);

create table mailed_codes (
  email text not null,
  purpose text not null,
  id uuid not null,
  code_hash text not null,
  tries integer not null default 0,
  expires_at timestamp with time zone not null,
  constraint mailed_codes_pkey PRIMARY KEY (email, purpose),
  constraint mailed_codes_purpose_check CHECK ((purpose = ANY (ARRAY['confirm'::text, 'reset'::text])))
);
CREATE INDEX mailed_codes_expires_at ON mailed_codes USING btree (expires_at);

create table minutes (
  minute timestamp with time zone not null,
  process uuid not null,
  requests integer not null,
  faults integer not null,
  debits integer not null,
  credits integer not null,
  refusals integer not null,
  took integer[] not null,
  widgets integer not null,
  processes integer not null default 1,
  constraint minutes_pkey PRIMARY KEY (minute, process)
);

create table oidc_starts (
  state_hash bytea not null,
  browser_hash bytea not null,
  purpose text not null,
  session_id uuid,
  invite_hash bytea,
  next text not null,
  expires_at timestamp with time zone not null,
  constraint oidc_starts_pkey PRIMARY KEY (state_hash),
  constraint oidc_starts_browser_hash_check CHECK ((length(browser_hash) = 32)),
  constraint oidc_starts_check CHECK (((session_id IS NOT NULL) = (purpose = 'connect'::text))),
  constraint oidc_starts_check1 CHECK (((invite_hash IS NOT NULL) = (purpose = 'accept'::text))),
  constraint oidc_starts_invite_hash_check CHECK ((length(invite_hash) = 32)),
  constraint oidc_starts_purpose_check CHECK ((purpose = ANY (ARRAY['sign-in'::text, 'connect'::text, 'accept'::text]))),
  constraint oidc_starts_state_hash_check CHECK ((length(state_hash) = 32))
);
CREATE INDEX oidc_starts_expires_at ON oidc_starts USING btree (expires_at);

create table operator_forms (
  id uuid not null,
  subject text not null,
  sent_at timestamp with time zone not null default now(),
  content jsonb,
  result jsonb,
  constraint operator_forms_pkey PRIMARY KEY (id)
);
CREATE INDEX operator_forms_sent_at ON operator_forms USING btree (sent_at);

create table operators (
  id uuid not null,
  email text not null,
  name text not null,
  role text not null,
  password_hash text,
  totp_secret text,
  totp_pending text,
  totp_step bigint not null default 0,
  is_active boolean not null default true,
  created_at timestamp with time zone not null default now(),
  signed_in_at timestamp with time zone,
  totp_pending_until timestamp with time zone,
  suspended_at timestamp with time zone,
  constraint operators_pkey PRIMARY KEY (id),
  constraint operators_email_key UNIQUE (email),
  constraint operators_email_check CHECK ((email = lower(email))),
  constraint operators_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'support'::text, 'finance'::text, 'admin'::text])))
);

create table operator_addresses (
  operator_id uuid not null,
  address_hash bytea not null,
  last_at timestamp with time zone not null,
  is_keyed boolean not null default false,
  constraint operator_addresses_pkey PRIMARY KEY (operator_id, address_hash),
  constraint operator_addresses_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE,
  constraint operator_addresses_address_hash_check CHECK ((length(address_hash) = 32))
);
CREATE INDEX operator_addresses_plain ON operator_addresses USING btree (operator_id) WHERE (NOT is_keyed);

create table operator_changes (
  id uuid not null,
  kind text not null,
  operator_id uuid,
  email text,
  role text,
  state text not null default 'waiting'::text,
  asked_by text not null,
  asked_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  decided_by text,
  decided_at timestamp with time zone,
  constraint operator_changes_pkey PRIMARY KEY (id),
  constraint operator_changes_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE,
  constraint operator_changes_kind_check CHECK ((kind = ANY (ARRAY['invite'::text, 'reset'::text, 'role'::text, 'remove'::text, 'restore'::text]))),
  constraint operator_changes_role CHECK (((role IS NULL) = (kind = ANY (ARRAY['reset'::text, 'remove'::text, 'restore'::text])))),
  constraint operator_changes_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'support'::text, 'finance'::text, 'admin'::text]))),
  constraint operator_changes_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'approved'::text, 'declined'::text, 'withdrawn'::text, 'expired'::text]))),
  constraint operator_changes_subject CHECK ((((operator_id IS NULL) = (kind = 'invite'::text)) AND ((email IS NULL) = (operator_id IS NOT NULL)))),
  constraint operator_changes_two_people CHECK (((state <> 'approved'::text) OR ((decided_by IS NOT NULL) AND (decided_by <> asked_by))))
);
CREATE INDEX operator_changes_asked_at ON operator_changes USING btree (asked_at, id);
CREATE UNIQUE INDEX operator_changes_waiting ON operator_changes USING btree (kind, COALESCE((operator_id)::text, email)) WHERE (state = 'waiting'::text);
CREATE TRIGGER operator_changes_bound BEFORE UPDATE ON operator_changes FOR EACH ROW EXECUTE FUNCTION refuse_other_change();

create table operator_grants (
  operator_id uuid not null,
  kind text not null,
  at timestamp with time zone not null default now(),
  made_by text not null,
  approved_by text,
  constraint operator_grants_pkey PRIMARY KEY (operator_id, at, kind),
  constraint operator_grants_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE,
  constraint operator_grants_kind_check CHECK ((kind = ANY (ARRAY['created'::text, 'invited'::text, 'reset'::text, 'renewed'::text, 'role'::text, 'restored'::text])))
);
CREATE INDEX operator_grants_at ON operator_grants USING btree (at, operator_id, kind);

create table operator_identities (
  issuer text not null,
  subject text not null,
  operator_id uuid not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone,
  constraint operator_identities_pkey PRIMARY KEY (issuer, subject),
  constraint operator_identities_operator_id_issuer_key UNIQUE (operator_id, issuer),
  constraint operator_identities_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id),
  constraint operator_identities_issuer_check CHECK (((length(issuer) >= 1) AND (length(issuer) <= 500))),
  constraint operator_identities_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255)))
);

create table operator_invites (
  token_hash bytea not null,
  operator_id uuid,
  role text not null,
  created_by text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  id uuid not null default gen_random_uuid(),
  for_whom text,
  email text,
  approved_by text,
  mailed_at timestamp with time zone,
  constraint operator_invites_pkey PRIMARY KEY (token_hash),
  constraint operator_invites_id_key UNIQUE (id),
  constraint operator_invites_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE,
  constraint operator_invites_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'support'::text, 'finance'::text, 'admin'::text]))),
  constraint operator_invites_token_hash_check CHECK ((length(token_hash) = 32))
);
CREATE INDEX operator_invites_created_at ON operator_invites USING btree (created_at, id);

create table operator_recovery_codes (
  operator_id uuid not null,
  code_hash bytea not null,
  used_at timestamp with time zone,
  constraint operator_recovery_codes_pkey PRIMARY KEY (operator_id, code_hash),
  constraint operator_recovery_codes_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE,
  constraint operator_recovery_codes_code_hash_check CHECK ((length(code_hash) = 32))
);

create table operator_sessions (
  id uuid not null,
  token_hash bytea not null,
  operator_id uuid not null,
  stage text not null,
  created_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  address text not null,
  browser text not null,
  constraint operator_sessions_pkey PRIMARY KEY (id),
  constraint operator_sessions_token_hash_key UNIQUE (token_hash),
  constraint operator_sessions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE,
  constraint operator_sessions_stage_check CHECK ((stage = ANY (ARRAY['code'::text, 'enrol'::text, 'full'::text]))),
  constraint operator_sessions_token_hash_check CHECK ((length(token_hash) = 32))
);
CREATE INDEX operator_sessions_ends_at ON operator_sessions USING btree (ends_at);
CREATE INDEX operator_sessions_operator_id ON operator_sessions USING btree (operator_id);

create table outcomes (
  reference_key uuid not null,
  wallet_id uuid not null,
  amount bigint not null,
  balance bigint not null,
  sequence bigint,
  created_at timestamp with time zone not null,
  refusal text,
  held bigint,
  is_hold boolean,
  constraint outcomes_pkey PRIMARY KEY (reference_key),
  constraint outcomes_amount_check CHECK ((amount <> 0)),
  constraint outcomes_refusal_check CHECK ((refusal = ANY (ARRAY['INSUFFICIENT_BALANCE'::text, 'BALANCE_LIMIT'::text]))),
  constraint outcomes_transfer_or_refusal CHECK (((num_nonnulls(sequence, refusal, is_hold) = 1) AND (is_hold IS DISTINCT FROM false)))
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
CREATE TRIGGER outcomes_append_only BEFORE DELETE OR UPDATE ON outcomes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER outcomes_never_emptied BEFORE TRUNCATE ON outcomes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on outcomes from current_user;

create table positions (
  counter_account text collate "C" not null,
  day date not null,
  writer integer not null,
  debited bigint not null,
  credited bigint not null,
  transfers bigint not null,
  constraint positions_pkey PRIMARY KEY (counter_account, day, writer)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, fillfactor = 20);
CREATE INDEX positions_unmerged ON positions USING btree (day) WHERE (writer <> 1000000);

create table processor_lines (
  id text collate "C" not null,
  processor text not null,
  kind text not null,
  payment_intent_id text collate "C",
  is_ours boolean not null,
  amount bigint not null,
  fee bigint not null,
  created_at timestamp with time zone not null,
  read_by text,
  constraint processor_lines_pkey PRIMARY KEY (id),
  constraint processor_lines_kind_check CHECK ((kind = ANY (ARRAY['charge'::text, 'refund'::text, 'dispute'::text, 'fee'::text, 'payout'::text, 'other'::text]))),
  constraint processor_lines_processor_check CHECK ((processor = ANY (ARRAY['stripe'::text, 'sandbox'::text])))
);
CREATE INDEX processor_lines_created_at ON processor_lines USING btree (created_at);
CREATE INDEX processor_lines_payment ON processor_lines USING btree (payment_intent_id);

create table reconciliation_days (
  day date not null,
  source text not null default 'processor'::text,
  cursor text,
  tries integer not null default 0,
  next_try_at timestamp with time zone not null default now(),
  problem text,
  finished_at timestamp with time zone,
  constraint reconciliation_days_pkey PRIMARY KEY (day),
  constraint reconciliation_days_source_check CHECK ((source = ANY (ARRAY['processor'::text, 'file'::text])))
);
CREATE TRIGGER reconciliation_days_adopt_work BEFORE INSERT OR UPDATE ON reconciliation_days FOR EACH ROW WHEN ((new.next_try_at < 'infinity'::timestamp with time zone)) EXECUTE FUNCTION adopt_work('reconcile-day');

create table reconciliation_differences (
  payment_intent_id text collate "C" not null,
  kind text not null,
  day date not null,
  processor_amount bigint not null,
  ledger_amount bigint not null,
  found_at timestamp with time zone not null,
  resolved_at timestamp with time zone,
  settled_at timestamp with time zone,
  settled_by text,
  settled_reason text,
  constraint reconciliation_differences_pkey PRIMARY KEY (payment_intent_id, kind),
  constraint reconciliation_differences_kind_check CHECK ((kind = ANY (ARRAY['charge'::text, 'refund'::text, 'dispute'::text]))),
  constraint reconciliation_differences_settled CHECK ((num_nulls(settled_at, settled_by, settled_reason) = ANY (ARRAY[0, 3])))
);
CREATE INDEX reconciliation_differences_amount ON reconciliation_differences USING btree (abs((processor_amount - ledger_amount)), payment_intent_id, kind);
CREATE INDEX reconciliation_differences_day ON reconciliation_differences USING btree (day, payment_intent_id, kind);
CREATE INDEX reconciliation_differences_open ON reconciliation_differences USING btree (day) WHERE (resolved_at IS NULL);

create table reference_types (
  namespace text collate "C" not null,
  type text collate "C" not null,
  constraint reference_types_pkey PRIMARY KEY (namespace, type)
);

create table refused_credentials (
  client_id text collate "C" not null,
  cause text not null,
  fingerprint text not null,
  address text not null,
  calls bigint not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint refused_credentials_pkey PRIMARY KEY (client_id, cause, fingerprint, address),
  constraint refused_credentials_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint refused_credentials_calls_check CHECK ((calls > 0)),
  constraint refused_credentials_cause_check CHECK ((cause = ANY (ARRAY['missing'::text, 'wrong'::text, 'revoked'::text, 'expired'::text, 'inactive'::text]))),
  constraint refused_credentials_check CHECK (((fingerprint = ''::text) = (cause = ANY (ARRAY['missing'::text, 'wrong'::text])))),
  constraint refused_credentials_fingerprint_check CHECK ((fingerprint ~ '^([0-9a-f]{4})?$'::text))
);
CREATE INDEX refused_credentials_last_at ON refused_credentials USING btree (last_at);

create table repeats (
  reference_key uuid not null,
  wallet_id uuid not null,
  amount bigint not null,
  times bigint not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint repeats_pkey PRIMARY KEY (reference_key, wallet_id, amount)
);
CREATE INDEX repeats_first_at ON repeats USING btree (first_at);

create table report_contradictions (
  id uuid not null default gen_random_uuid(),
  line_id text collate "C" not null,
  payment_intent_id text collate "C",
  day date not null,
  processor_said jsonb,
  file_said jsonb not null,
  read_by text not null,
  read_at timestamp with time zone not null,
  resolved_at timestamp with time zone,
  resolved_by text,
  resolved_reason text,
  constraint report_contradictions_pkey PRIMARY KEY (id),
  constraint report_contradictions_line_id_file_said_key UNIQUE (line_id, file_said),
  constraint report_contradictions_resolved CHECK ((num_nulls(resolved_at, resolved_by, resolved_reason) = ANY (ARRAY[0, 3])))
);
CREATE INDEX report_contradictions_day ON report_contradictions USING btree (day, id);
CREATE INDEX report_contradictions_open ON report_contradictions USING btree (day) WHERE (resolved_at IS NULL);

create table sandbox_payments (
  id text not null,
  version integer not null,
  document text not null,
  created_at timestamp with time zone not null,
  due_at timestamp with time zone,
  constraint sandbox_payments_pkey PRIMARY KEY (id)
);
CREATE INDEX sandbox_payments_created_at ON sandbox_payments USING btree (created_at);
CREATE INDEX sandbox_payments_due_at ON sandbox_payments USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE TRIGGER sandbox_payments_adopt_work BEFORE INSERT OR UPDATE ON sandbox_payments FOR EACH ROW WHEN ((new.due_at IS NOT NULL)) EXECUTE FUNCTION adopt_work('deliver-sandbox-webhook');

create table settlements (
  id uuid not null,
  client_id text collate "C" not null,
  number integer not null,
  from_day date,
  through_day date not null,
  amount bigint not null,
  reference text not null,
  reverses uuid,
  made_by text not null,
  made_at timestamp with time zone not null default now(),
  constraint settlements_pkey PRIMARY KEY (id),
  constraint settlements_client_id_number_key UNIQUE (client_id, number),
  constraint settlements_reverses_key UNIQUE (reverses),
  constraint settlements_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint settlements_reverses_fkey FOREIGN KEY (reverses) REFERENCES settlements(id),
  constraint settlements_amount_check CHECK ((amount <> 0)),
  constraint settlements_check CHECK ((from_day <= through_day)),
  constraint settlements_number_check CHECK ((number > 0)),
  constraint settlements_reference_check CHECK (((length(reference) >= 1) AND (length(reference) <= 500)))
);
CREATE INDEX settlements_amount ON settlements USING btree (abs(amount), id);
CREATE INDEX settlements_app ON settlements USING btree (client_id, made_at, id);
CREATE INDEX settlements_made_at ON settlements USING btree (made_at, id);
CREATE INDEX settlements_reference ON settlements USING btree (reference);
CREATE INDEX settlements_reference_search ON settlements USING btree (lower(reference) COLLATE "C", id);
CREATE TRIGGER settlements_append_only BEFORE DELETE OR UPDATE ON settlements FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlements_never_emptied BEFORE TRUNCATE ON settlements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table sign_ups (
  email text not null,
  password_hash text,
  first_name text not null,
  last_name text not null,
  expires_at timestamp with time zone not null,
  constraint sign_ups_pkey PRIMARY KEY (email)
);
CREATE INDEX sign_ups_expires_at ON sign_ups USING btree (expires_at);

create table stalled_journal (
  client_id text collate "C" not null,
  serial bigint not null,
  writer integer not null,
  constraint stalled_journal_pkey PRIMARY KEY (client_id, serial, writer)
);

create table transfers (
  wallet_id uuid not null,
  sequence bigint not null,
  amount bigint not null,
  balance_after bigint not null,
  reference_key uuid not null,
  created_at timestamp with time zone not null,
  counter_account text collate "C" not null,
  reference_type text not null,
  reference_id text not null,
  description text,
  constraint transfers_pkey PRIMARY KEY (wallet_id, sequence),
  constraint transfers_amount_check CHECK (((amount <> 0) AND (abs(amount) <= '999999999999999'::bigint))),
  constraint transfers_balance_after_check CHECK ((abs(balance_after) <= '999999999999999'::bigint)),
  constraint transfers_not_overdrawn CHECK (((balance_after >= 0) OR (amount > 0) OR (counter_account = 'cards'::text))),
  constraint transfers_sequence_check CHECK ((sequence > 0))
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
CREATE INDEX transfers_created_at ON transfers USING brin (created_at) WITH (pages_per_range='64', autosummarize='on');
CREATE TRIGGER transfers_append_only BEFORE DELETE OR UPDATE ON transfers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER transfers_never_emptied BEFORE TRUNCATE ON transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
revoke delete, truncate, update on transfers from current_user;

create table users (
  id uuid not null,
  email text,
  password_hash text,
  first_name text not null,
  last_name text not null,
  created_at timestamp with time zone not null default now(),
  language text,
  deleted_at timestamp with time zone,
  constraint users_pkey PRIMARY KEY (id),
  constraint users_email_key UNIQUE (email),
  constraint users_deleted_is_nobody CHECK (
CASE
    WHEN (deleted_at IS NULL) THEN (email IS NOT NULL)
    ELSE ((num_nonnulls(email, password_hash, language) = 0) AND (first_name = ''::text) AND (last_name = ''::text))
END),
  constraint users_email_check CHECK ((email = lower(email))),
  constraint users_language_check CHECK ((language ~ '^[a-z]{2,3}$'::text))
);
CREATE INDEX users_email_search ON users USING btree (email COLLATE "C", id);
CREATE INDEX users_last_name_search ON users USING btree (lower(((last_name || ' '::text) || first_name)) COLLATE "C", id);
CREATE INDEX users_name_search ON users USING btree (lower(((first_name || ' '::text) || last_name)) COLLATE "C", id);

create table corrections (
  id uuid not null,
  wallet_id uuid not null,
  amount bigint not null,
  counter_account text collate "C" not null,
  reason text not null,
  corrects uuid,
  state text not null,
  needs_approval boolean not null,
  asked_by text not null,
  asked_at timestamp with time zone not null default now(),
  decided_by text,
  decided_at timestamp with time zone,
  decision_reason text,
  refusal text,
  constraint corrections_pkey PRIMARY KEY (id),
  constraint corrections_wallet_id_fkey FOREIGN KEY (wallet_id) REFERENCES users(id),
  constraint corrections_account CHECK (((counter_account = ANY (ARRAY['adjustments'::text, 'bonus'::text])) OR (counter_account ~~ 'app:%'::text))),
  constraint corrections_amount_check CHECK ((amount <> 0)),
  constraint corrections_refusal CHECK (((refusal IS NOT NULL) = (state = 'refused'::text))),
  constraint corrections_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'approved'::text, 'done'::text, 'refused'::text, 'declined'::text, 'withdrawn'::text]))),
  constraint corrections_two_people CHECK (((NOT needs_approval) OR (state <> ALL (ARRAY['approved'::text, 'done'::text, 'refused'::text])) OR ((decided_by IS NOT NULL) AND (decided_by <> asked_by))))
);
CREATE INDEX corrections_amount ON corrections USING btree (abs(amount), id);
CREATE INDEX corrections_asked_at ON corrections USING btree (asked_at, id);
CREATE INDEX corrections_corrects ON corrections USING btree (corrects) WHERE (corrects IS NOT NULL);
CREATE INDEX corrections_open ON corrections USING btree (state, asked_at) WHERE (state = ANY (ARRAY['waiting'::text, 'approved'::text]));
CREATE INDEX corrections_wallet_id ON corrections USING btree (wallet_id, asked_at, id);
CREATE TRIGGER corrections_adopt_work BEFORE INSERT OR UPDATE ON corrections FOR EACH ROW WHEN ((new.state = 'approved'::text)) EXECUTE FUNCTION adopt_work('post-correction');

create table devices (
  id uuid not null,
  token_hash bytea not null,
  user_id uuid not null,
  client_id text not null,
  browser text,
  address_hash bytea not null,
  created_at timestamp with time zone not null default now(),
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  password_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint devices_pkey PRIMARY KEY (id),
  constraint devices_token_hash_key UNIQUE (token_hash),
  constraint devices_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint devices_address_hash_check CHECK ((length(address_hash) = 32)),
  constraint devices_token_hash_check CHECK ((length(token_hash) = 32))
);
CREATE INDEX devices_expires_at ON devices USING btree (expires_at);
CREATE INDEX devices_user_id ON devices USING btree (user_id, expires_at);

create table email_changes (
  user_id uuid not null,
  id uuid not null,
  email text not null,
  old_code_hash text not null,
  new_code_hash text not null,
  tries integer not null default 0,
  expires_at timestamp with time zone not null,
  constraint email_changes_pkey PRIMARY KEY (user_id),
  constraint email_changes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX email_changes_expires_at ON email_changes USING btree (expires_at);

create table links (
  id text collate "C" not null,
  client_id text collate "C" not null,
  user_id uuid not null,
  created_at timestamp with time zone not null default now(),
  disconnected_at timestamp with time zone,
  signed_in_at timestamp with time zone,
  signed_out_at timestamp with time zone,
  constraint links_pkey PRIMARY KEY (id),
  constraint links_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE UNIQUE INDEX links_live ON links USING btree (user_id, client_id, disconnected_at) NULLS NOT DISTINCT;

create table link_codes (
  code_hash bytea not null,
  link_id text not null,
  client_id text not null,
  expires_at timestamp with time zone not null,
  constraint link_codes_pkey PRIMARY KEY (code_hash),
  constraint link_codes_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint link_codes_link_id_fkey FOREIGN KEY (link_id) REFERENCES links(id),
  constraint link_codes_code_hash_check CHECK ((length(code_hash) = 32))
);
CREATE INDEX link_codes_expires_at ON link_codes USING btree (expires_at);
CREATE INDEX link_codes_link_id ON link_codes USING btree (link_id);

create table mail_settings (
  user_id uuid not null,
  stopped text[] not null default '{}'::text[],
  language text,
  constraint mail_settings_pkey PRIMARY KEY (user_id),
  constraint mail_settings_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint mail_settings_language_check CHECK ((language ~ '^[a-z]{2,3}$'::text)),
  constraint mail_settings_stopped_check CHECK ((stopped <@ ARRAY['receipts'::text, 'payments'::text, 'sign-ins'::text]))
);

create table mails (
  fact text collate "C" not null,
  user_id uuid not null,
  kind text not null,
  detail jsonb not null,
  email text,
  language text,
  created_at timestamp with time zone not null default now(),
  due_at timestamp with time zone default now(),
  tries integer not null default 0,
  constraint mails_pkey PRIMARY KEY (fact),
  constraint mails_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX mails_created_at ON mails USING btree (created_at);
CREATE INDEX mails_due_at ON mails USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX mails_user_id ON mails USING btree (user_id);
CREATE TRIGGER mails_adopt_work BEFORE INSERT OR UPDATE ON mails FOR EACH ROW WHEN ((new.due_at IS NOT NULL)) EXECUTE FUNCTION adopt_work('send-mail');

create table new_links (
  link_id text collate "C" not null,
  user_id uuid not null,
  client_id text collate "C" not null,
  connected_at timestamp with time zone not null default now(),
  looked_to bigint not null,
  look_at timestamp with time zone not null,
  constraint new_links_pkey PRIMARY KEY (link_id),
  constraint new_links_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint new_links_link_id_fkey FOREIGN KEY (link_id) REFERENCES links(id),
  constraint new_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX new_links_look_at ON new_links USING btree (look_at);
CREATE TRIGGER new_links_adopt_work BEFORE INSERT OR UPDATE ON new_links FOR EACH ROW WHEN ((new.look_at < 'infinity'::timestamp with time zone)) EXECUTE FUNCTION adopt_work('find-first-payment');

create table notes (
  id uuid not null,
  user_id uuid not null,
  operator_id uuid not null,
  text text not null,
  written_at timestamp with time zone not null default now(),
  constraint notes_pkey PRIMARY KEY (id),
  constraint notes_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id),
  constraint notes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint notes_text_check CHECK (((length(text) >= 1) AND (length(text) <= 2000)))
);
CREATE INDEX notes_user_id ON notes USING btree (user_id, written_at, id);
CREATE INDEX notes_written_at ON notes USING btree (written_at, id);
CREATE TRIGGER notes_never_changed BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION refuse_change();

create table paper_links (
  token_hash bytea not null,
  user_id uuid not null,
  paper jsonb not null,
  expires_at timestamp with time zone not null,
  session_hash bytea,
  device_id uuid,
  constraint paper_links_pkey PRIMARY KEY (token_hash),
  constraint paper_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint paper_links_session_hash_check CHECK ((length(session_hash) = 32)),
  constraint paper_links_token_hash_check CHECK ((length(token_hash) = 32))
);
CREATE INDEX paper_links_expires_at ON paper_links USING btree (expires_at);

create table topups (
  id uuid not null,
  user_id uuid not null,
  client_id text not null,
  processor text not null,
  payment_intent_id text,
  amount bigint not null,
  currency text not null,
  state text not null default 'created'::text,
  credited bigint not null default 0,
  refunded bigint not null default 0,
  disputed bigint not null default 0,
  dispute text not null default 'none'::text,
  decline_code text,
  declines_seen integer not null default 0,
  declines_told integer not null default 0,
  declined_at timestamp with time zone,
  problem text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  version bigint not null default 0,
  look_at timestamp with time zone,
  looks integer not null default 0,
  next_amount bigint,
  failure text,
  constraint topups_pkey PRIMARY KEY (id),
  constraint topups_payment_intent_id_key UNIQUE (payment_intent_id),
  constraint topups_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint topups_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint topups_amount_check CHECK ((amount > 0)),
  constraint topups_credited_whole CHECK (((credited = 0) OR (credited = amount))),
  constraint topups_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint topups_dispute_check CHECK ((dispute = ANY (ARRAY['none'::text, 'open'::text, 'won'::text, 'lost'::text]))),
  constraint topups_failure_check CHECK ((failure = ANY (ARRAY['declined'::text, 'authentication'::text, 'unconfirmed'::text, 'cancelled'::text, 'failed'::text]))),
  constraint topups_never_below_zero CHECK (((refunded >= 0) AND (disputed >= 0) AND ((refunded + disputed) <= credited))),
  constraint topups_next_amount_check CHECK ((next_amount > 0)),
  constraint topups_problem_check CHECK ((problem = ANY (ARRAY['mismatch'::text, 'credit-refused'::text]))),
  constraint topups_processor_check CHECK ((processor = ANY (ARRAY['stripe'::text, 'sandbox'::text]))),
  constraint topups_state_check CHECK ((state = ANY (ARRAY['created'::text, 'processing'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE INDEX topups_created_at ON topups USING btree (created_at, id);
CREATE INDEX topups_disputed ON topups USING btree (created_at) WHERE (dispute = 'open'::text);
CREATE INDEX topups_look_at ON topups USING btree (look_at) WHERE (look_at IS NOT NULL);
CREATE INDEX topups_problem ON topups USING btree (created_at) WHERE (problem IS NOT NULL);
CREATE INDEX topups_user_id ON topups USING btree (user_id, created_at);
CREATE TRIGGER topups_adopt_work BEFORE INSERT OR UPDATE ON topups FOR EACH ROW WHEN ((new.look_at IS NOT NULL)) EXECUTE FUNCTION adopt_work('resolve-topup');

create table processor_events (
  id text not null,
  topup_id uuid not null,
  type text not null,
  received_at timestamp with time zone not null,
  constraint processor_events_pkey PRIMARY KEY (id),
  constraint processor_events_topup_id_fkey FOREIGN KEY (topup_id) REFERENCES topups(id)
);
CREATE INDEX processor_events_received_at ON processor_events USING btree (received_at);
CREATE INDEX processor_events_topup_id ON processor_events USING btree (topup_id);

create table topup_movements (
  topup_id uuid not null,
  number integer not null,
  reference_type text not null,
  reference_id text not null,
  amount bigint not null,
  created_at timestamp with time zone not null,
  posted_at timestamp with time zone,
  refusal text,
  constraint topup_movements_pkey PRIMARY KEY (topup_id, number),
  constraint topup_movements_reference_type_reference_id_key UNIQUE (reference_type, reference_id),
  constraint topup_movements_topup_id_fkey FOREIGN KEY (topup_id) REFERENCES topups(id),
  constraint topup_movements_amount_check CHECK ((amount <> 0)),
  constraint topup_movements_number_check CHECK ((number > 0))
);
CREATE INDEX topup_movements_posted_at ON topup_movements USING btree (posted_at);
CREATE INDEX topup_movements_unposted ON topup_movements USING btree (topup_id) WHERE (posted_at IS NULL);

create table user_addresses (
  user_id uuid not null,
  address_hash bytea not null,
  last_at timestamp with time zone not null,
  is_keyed boolean not null default false,
  constraint user_addresses_pkey PRIMARY KEY (user_id, address_hash),
  constraint user_addresses_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint user_addresses_address_hash_check CHECK ((length(address_hash) = 32))
);
CREATE INDEX user_addresses_plain ON user_addresses USING btree (user_id) WHERE (NOT is_keyed);

create table user_deletions (
  id uuid not null,
  user_id uuid not null,
  reason text not null,
  state text not null default 'waiting'::text,
  asked_by text not null,
  asked_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  decided_by text,
  decided_at timestamp with time zone,
  decision_reason text,
  constraint user_deletions_pkey PRIMARY KEY (id),
  constraint user_deletions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint user_deletions_decision_reason_check CHECK (((length(decision_reason) >= 1) AND (length(decision_reason) <= 500))),
  constraint user_deletions_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 500))),
  constraint user_deletions_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'approved'::text, 'declined'::text, 'withdrawn'::text, 'expired'::text, 'overtaken'::text]))),
  constraint user_deletions_two_people CHECK (((state <> 'approved'::text) OR ((decided_by IS NOT NULL) AND (decided_by <> asked_by))))
);
CREATE INDEX user_deletions_asked_at ON user_deletions USING btree (asked_at, id);
CREATE INDEX user_deletions_user ON user_deletions USING btree (user_id, asked_at DESC);
CREATE UNIQUE INDEX user_deletions_waiting ON user_deletions USING btree (user_id) WHERE (state = 'waiting'::text);
CREATE TRIGGER user_deletions_bound BEFORE UPDATE ON user_deletions FOR EACH ROW EXECUTE FUNCTION refuse_other_deletion();

create table verified_wallets (
  wallet_id uuid not null,
  sequence bigint not null,
  balance bigint not null,
  constraint verified_wallets_pkey PRIMARY KEY (wallet_id)
) with (fillfactor = 70);

create table wallet_heads (
  wallet_id uuid not null,
  salt bytea not null,
  size bigint not null,
  peaks bytea not null,
  leaf bigint not null,
  constraint wallet_heads_pkey PRIMARY KEY (wallet_id),
  constraint wallet_heads_peaks_check CHECK ((octet_length(peaks) = (32 * bit_count(int8send(size))))),
  constraint wallet_heads_salt_check CHECK ((octet_length(salt) = 32)),
  constraint wallet_heads_size_check CHECK ((size > 0))
) with (fillfactor = 70);

create table wallet_subtrees (
  wallet_id uuid not null,
  level smallint not null,
  number bigint not null,
  hash bytea not null,
  constraint wallet_subtrees_pkey PRIMARY KEY (wallet_id, level, number),
  constraint wallet_subtrees_hash_check CHECK ((octet_length(hash) = 32))
);

create table wallets (
  id uuid not null,
  balance bigint not null default 0,
  sequence bigint not null default 0,
  frozen_for text,
  frozen_reason text,
  held bigint not null default 0,
  padding text default '                                '::text,
  open_holds integer not null default 0,
  constraint wallets_pkey PRIMARY KEY (id),
  constraint wallets_balance_limit CHECK ((abs(balance) <= '999999999999999'::bigint)),
  constraint wallets_closed_is_empty CHECK (((frozen_for IS DISTINCT FROM 'closed'::text) OR ((balance <= 0) AND (held = 0)))),
  constraint wallets_frozen_for_check CHECK ((frozen_for = ANY (ARRAY['operator'::text, 'debt'::text, 'closed'::text]))),
  constraint wallets_held_check CHECK ((held >= 0)),
  constraint wallets_not_overdrawn CHECK ((((balance - held) >= 0) OR (frozen_for IS NOT NULL))),
  constraint wallets_reason_of_freeze CHECK (((frozen_for IS NOT NULL) OR (frozen_reason IS NULL))),
  constraint wallets_sequence_check CHECK ((sequence >= 0))
) with (autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.05, fillfactor = 90);
CREATE INDEX wallets_frozen ON wallets USING btree (id) WHERE (frozen_for IS NOT NULL);

create table widget_sessions (
  token_hash bytea not null,
  client_id text not null,
  link_id text not null,
  user_id uuid not null,
  parent_origin text,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  browser text,
  address_hash bytea,
  revoked_for text,
  constraint widget_sessions_pkey PRIMARY KEY (token_hash),
  constraint widget_sessions_client_id_fkey FOREIGN KEY (client_id) REFERENCES apps(client_id),
  constraint widget_sessions_link_id_fkey FOREIGN KEY (link_id) REFERENCES links(id),
  constraint widget_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint widget_sessions_address_hash_check CHECK ((length(address_hash) = 32)),
  constraint widget_sessions_revoked_for_check CHECK ((revoked_for = ANY (ARRAY['signed-out'::text, 'signed-out-everywhere'::text, 'password-changed'::text]))),
  constraint widget_sessions_token_hash_check CHECK ((length(token_hash) = 32))
);
CREATE INDEX widget_sessions_expires_at ON widget_sessions USING btree (expires_at);
CREATE INDEX widget_sessions_user_id ON widget_sessions USING btree (user_id, expires_at);

create table work (
  kind text collate "C" not null,
  key text collate "C" not null,
  payload jsonb not null default '{}'::jsonb,
  due_at timestamp with time zone not null,
  lease uuid,
  leased_until timestamp with time zone,
  is_requested boolean not null default false,
  attempts integer not null default 0,
  failures integer not null default 0,
  last_error text,
  failed_at timestamp with time zone,
  given_up_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint work_pkey PRIMARY KEY (kind, key),
  constraint work_lease CHECK (((lease IS NULL) = (leased_until IS NULL)))
);
CREATE INDEX work_due ON work USING btree (kind, due_at, key) WHERE (given_up_at IS NULL);
CREATE INDEX work_failing ON work USING btree (failed_at) WHERE (failures > 0);
CREATE INDEX work_given_up ON work USING btree (given_up_at) WHERE (given_up_at IS NOT NULL);

create view all_outcomes as
 SELECT reference_key,
    wallet_id,
    amount,
    balance,
    sequence,
    created_at,
    refusal,
    held,
    is_hold
   FROM outcomes;

create view all_transfers as
 SELECT wallet_id,
    sequence,
    amount,
    balance_after,
    reference_key,
    created_at,
    counter_account,
    reference_type,
    reference_id,
    description,
    false AS is_archived
   FROM transfers;

create view archived_references as
 SELECT NULL::integer AS closing_id,
    NULL::uuid AS first_key,
    NULL::smallint AS keys,
    NULL::smallint AS prefix_bits,
    NULL::smallint AS wallet_bits,
    NULL::smallint AS amount_bits,
    NULL::smallint AS balance_bits,
    NULL::smallint AS held_bits,
    NULL::bit varying AS bits
  WHERE false;

create view archived_sums as
 SELECT (NULL::text COLLATE "C") AS counter_account,
    NULL::date AS day,
    NULL::numeric AS debited,
    NULL::numeric AS credited,
    NULL::bigint AS transfers
  WHERE false;

create view archived_wallet_ids as
 SELECT NULL::integer AS closing_id,
    NULL::integer AS part,
    NULL::uuid[] AS ids
  WHERE false;

create view archived_wallets as
 SELECT wallet_id,
    sequence,
    NULL::bytea AS peaks
   FROM transfers
  WHERE false;
