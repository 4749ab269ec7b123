-- Who gave an operator access, and when. An operator does not approve what the giver asked for, while the grant is young.
create table operator_grants (
  operator_id uuid not null references operators on delete cascade,
  -- `renewed`: a reset link was used, so password and second factor are new.
  kind text not null check (kind in ('created', 'invited', 'reset', 'renewed', 'role', 'restored')),
  at timestamptz not null default now(),
  -- Actors, as in the audit log.
  made_by text not null,
  approved_by text,
  primary key (operator_id, at, kind)
);

create function grant_of(action text, actor text, subject text, detail jsonb, at timestamptz) returns void language plpgsql as $$
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
end $$;

-- Transitional, until no process of an older version can run: older processes record a grant in the audit log only.
create function adopt_grant() returns trigger language plpgsql as $$
begin
  perform grant_of(new.action, new.actor, new.subject, new.detail, new.at);
  return null;
end $$;
create trigger audit_adopt_grant after insert on audit for each row
  when (new.action in ('operator.created', 'operator.reset', 'operator.renewed', 'operator.access-changed'))
  execute function adopt_grant();

-- What was granted before this version.
do $$
declare record record;
begin
  for record in select action, actor, subject, detail, at from audit
    where action in ('operator.created', 'operator.reset', 'operator.renewed', 'operator.access-changed') order by at, id
  loop
    perform grant_of(record.action, record.actor, record.subject, record.detail, record.at);
  end loop;
end $$;
