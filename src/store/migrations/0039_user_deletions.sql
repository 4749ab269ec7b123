-- Deletions of users that an operator asked for, and who decided on them. The content of a row never changes: the approval of its id is
-- the approval of what it says. The row of a user stays after the deletion, so these rows stay too.
create table user_deletions (
  id uuid primary key,
  user_id uuid not null references users,
  reason text not null check (length(reason) between 1 and 500),
  -- `overtaken`: the user deleted the account meanwhile.
  state text not null default 'waiting' check (state in ('waiting', 'approved', 'declined', 'withdrawn', 'expired', 'overtaken')),
  asked_by text not null,
  asked_at timestamptz not null default now(),
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  decision_reason text check (length(decision_reason) between 1 and 500),
  constraint user_deletions_two_people check (state <> 'approved' or (decided_by is not null and decided_by <> asked_by))
);
create unique index user_deletions_waiting on user_deletions (user_id) where state = 'waiting';
create index user_deletions_user on user_deletions (user_id, asked_at desc);

create function refuse_other_deletion() returns trigger language plpgsql as $$
begin
  if old.state = 'waiting' and (old.id, old.user_id, old.reason, old.asked_by, old.asked_at, old.expires_at)
    is not distinct from (new.id, new.user_id, new.reason, new.asked_by, new.asked_at, new.expires_at)
  then return new; end if;
  raise exception 'The content of a requested deletion is not changed, and a decision is final.';
end $$;
create trigger user_deletions_bound before update on user_deletions for each row execute function refuse_other_deletion();
