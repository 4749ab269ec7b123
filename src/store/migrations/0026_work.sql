-- One queue for all work that must happen later. A row asks for one piece of work; the row it is about keeps its own state.
create table work (
  kind text collate "C" not null,
  -- Which top-up, mail, day … of that kind.
  key text collate "C" not null,
  payload jsonb not null default '{}',
  due_at timestamptz not null,
  -- The claim of the process that runs it. A lease that has run out belongs to a process that died.
  lease uuid,
  leased_until timestamptz,
  -- Requested again since the claim: the row outlives the run.
  is_requested boolean not null default false,
  -- Claims since the last request, which lengthen the back-off.
  attempts integer not null default 0,
  -- Failed runs in a row, with the reason of the last one.
  failures integer not null default 0,
  last_error text,
  failed_at timestamptz,
  -- No process runs it again by itself. Work that must run at most once is given up by its claim, until its run has ended.
  given_up_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (kind, key),
  constraint work_lease check ((lease is null) = (leased_until is null))
);
create index work_due on work (kind, due_at, key) where given_up_at is null;
create index work_given_up on work (given_up_at);
create index work_failing on work (failed_at) where failures > 0;

-- Transitional, until no process of an older version can run: older processes keep a clock in each table (topups.look_at,
-- mails.due_at …). These triggers move every time they write into `work` and leave the clock empty, so that older processes find
-- nothing due and newer ones run everything. While older processes run alone after this migration, their work waits.
create function adopt_work() returns trigger language plpgsql as $$
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
end $$;

create trigger topups_adopt_work before insert or update on topups
  for each row when (new.look_at is not null) execute function adopt_work('resolve-topup');
create trigger mails_adopt_work before insert or update on mails
  for each row when (new.due_at is not null) execute function adopt_work('send-mail');
create trigger reconciliation_days_adopt_work before insert or update on reconciliation_days
  for each row when (new.next_try_at < 'infinity') execute function adopt_work('reconcile-day');
create trigger new_links_adopt_work before insert or update on new_links
  for each row when (new.look_at < 'infinity') execute function adopt_work('find-first-payment');
create trigger sandbox_payments_adopt_work before insert or update on sandbox_payments
  for each row when (new.due_at is not null) execute function adopt_work('deliver-sandbox-webhook');
create trigger corrections_adopt_work before insert or update on corrections
  for each row when (new.state = 'approved') execute function adopt_work('post-correction');

-- What waits already goes the same way.
update topups set look_at = look_at where look_at is not null;
update mails set due_at = due_at where due_at is not null;
update reconciliation_days set next_try_at = next_try_at where next_try_at < 'infinity';
update new_links set look_at = look_at where look_at < 'infinity';
update sandbox_payments set due_at = due_at where due_at is not null;
update corrections set state = state where state = 'approved';
update work w set attempts = t.looks from topups t where w.kind = 'resolve-topup' and t.id::text = w.key;
update work w set attempts = m.tries from mails m where w.kind = 'send-mail' and m.fact = w.key;
