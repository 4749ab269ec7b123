-- Where the log lives: server, timeline, database and table. A restored copy lives elsewhere, and goes on under another name.
alter table log_state add column home text collate "C";

alter table log_leaves drop constraint log_leaves_kind_check;
alter table log_leaves add constraint log_leaves_kind_check check (kind in ('wallet', 'audit', 'books', 'incarnation'));

-- Each time the log went on under another name. `number` is its leaf; `note` is the last checkpoint of the name before, if there was one.
create table log_incarnations (
  number bigint primary key,
  id text collate "C" not null unique,
  previous text collate "C" not null,
  reason text not null constraint log_incarnations_reason_check check (reason in ('moved', 'behind', 'key-lost')),
  note text,
  at timestamptz not null default clock_timestamp()
);
create trigger log_incarnations_append_only before update or delete on log_incarnations
  for each row execute function refuse_change();
create trigger log_incarnations_never_emptied before truncate on log_incarnations
  for each statement execute function refuse_change();
revoke update, delete, truncate on log_incarnations from public, current_user;

-- What each target of CHECKPOINTS got last. `target` is a hash, because an address may have a token.
create table log_publications (
  target text collate "C" primary key,
  origin text collate "C",
  size bigint,
  published_at timestamptz,
  failing_since timestamptz,
  error text,
  -- The target has another checkpoint of the same name and size.
  contradiction text
);

-- The comparison of the books with the newest checkpoint.
alter table books_check add column log_cursor jsonb;
alter table books_check add column next_log_at timestamptz not null default now();
alter table books_check add column log_started_at timestamptz;
alter table books_check add column log_checked_at timestamptz;
alter table books_check add column log_checked_size bigint;
