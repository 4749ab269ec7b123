-- Finding things, and what operators know of a user.

-- The types of references that an app, or the service itself, has used. The key of an outcome is made of namespace, type and id:
-- with the types known, an id alone is found by a look at a few keys, without an index that every debit would pay for.
create table reference_types (
  namespace text collate "C" not null,
  type text collate "C" not null,
  primary key (namespace, type)
);
insert into reference_types (namespace, type)
select namespace, type from (
  select namespace, type, row_number() over (partition by namespace order by type) as place from (
    select distinct case when counter_account like 'app:%' then counter_account else 'service' end as namespace, reference_type as type
    from transfers) used) numbered
where place <= 200;

-- What happened on a day. Entries are appended, so those of a day lie together, and a line for each 64 pages tells where: a debit
-- writes nothing into it while its pages fill.
create index transfers_created_at on transfers using brin (created_at) with (pages_per_range = 64, autosummarize = on);

-- What operators write down about a user, for each other. Never changed; it goes with the user's account.
create table notes (
  id uuid primary key,
  user_id uuid not null references users,
  operator_id uuid not null references operators,
  text text not null check (length(text) between 1 and 2000),
  written_at timestamptz not null default now()
);
create index notes_user_id on notes (user_id, written_at);
create trigger notes_never_changed before update on notes for each row execute function refuse_change();
