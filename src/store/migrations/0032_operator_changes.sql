-- The mailbox that a link goes to. An invitation creates an operator with this address. Links of older processes have none.
alter table operator_invites add column email text;
-- The second admin of a change that needed two.
alter table operator_invites add column approved_by text;
alter table operator_invites add column mailed_at timestamptz;

-- Access that one admin took away alone. A suspended admin still counts when a change needs a second admin; otherwise one admin
-- could suspend all others and then act alone.
alter table operators add column suspended_at timestamptz;

-- Changes of operators that wait for a second admin, and those that were decided. The content of a row never changes: the
-- approval of its id is the approval of what it says.
create table operator_changes (
  id uuid primary key,
  kind text not null check (kind in ('invite', 'reset', 'role', 'remove', 'restore')),
  -- Null for an invitation, which has an address instead.
  operator_id uuid references operators on delete cascade,
  email text,
  role text check (role in ('viewer', 'support', 'finance', 'admin')),
  state text not null default 'waiting' check (state in ('waiting', 'approved', 'declined', 'withdrawn', 'expired')),
  asked_by text not null,
  asked_at timestamptz not null default now(),
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  constraint operator_changes_subject check ((operator_id is null) = (kind = 'invite') and (email is null) = (operator_id is not null)),
  constraint operator_changes_role check ((role is null) = (kind in ('reset', 'remove', 'restore'))),
  constraint operator_changes_two_people check (state <> 'approved' or (decided_by is not null and decided_by <> asked_by))
);
create unique index operator_changes_waiting on operator_changes (kind, coalesce(operator_id::text, email)) where state = 'waiting';

create function refuse_other_change() returns trigger language plpgsql as $$
begin
  if old.state = 'waiting' and (old.id, old.kind, old.operator_id, old.email, old.role, old.asked_by, old.asked_at)
    is not distinct from (new.id, new.kind, new.operator_id, new.email, new.role, new.asked_by, new.asked_at)
  then return new; end if;
  raise exception 'The content of a requested change is not changed, and a decision is final.';
end $$;
create trigger operator_changes_bound before update on operator_changes for each row execute function refuse_other_change();
