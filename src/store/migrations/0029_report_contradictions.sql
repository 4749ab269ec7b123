-- Which lines only a report file says, and what files say against the processor's API.

-- The operator whose file has the line, as in the audit log; null: the API has it.
alter table processor_lines add column read_by text;

create table report_contradictions (
  id uuid primary key default gen_random_uuid(),
  line_id text collate "C" not null,
  payment_intent_id text collate "C",
  day date not null,
  -- Null: the API has read the day and has no such booking.
  processor_said jsonb,
  file_said jsonb not null,
  read_by text not null,
  read_at timestamptz not null,
  resolved_at timestamptz,
  resolved_by text,
  resolved_reason text,
  -- The same file again adds nothing.
  unique (line_id, file_said),
  constraint report_contradictions_resolved check (num_nulls(resolved_at, resolved_by, resolved_reason) in (0, 3))
);
create index report_contradictions_open on report_contradictions (day) where resolved_at is null;

-- A file with a wrong date could add days of past centuries, and every day since became due.
delete from work where kind = 'reconcile-day' and key < '2015';
delete from reconciliation_days where day < '2015-01-01';
