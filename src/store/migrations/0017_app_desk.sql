-- What the page of an app shows, and what was paid out to it.

-- Calls of an app by hour, route and what was answered. Counted in memory; each process adds what it counted every minute.
create table app_calls (
  client_id text collate "C" not null references apps,
  hour timestamptz not null,
  route text not null,
  -- `ok`, `replayed`, or the code of the refusal.
  code text not null,
  calls bigint not null,
  last_at timestamptz not null,
  primary key (client_id, hour, route, code)
);
create index app_calls_hour on app_calls (hour);

-- How many users are linked to an app, counted from time to time: no index finds the links of an app, for it would be a wrong way
-- for debits to take.
create table app_links (
  client_id text collate "C" primary key references apps,
  links bigint not null,
  counted_at timestamptz not null
);

-- Periods that are paid out to an app, one after the other and up to a day that is over. A mark is taken back by a row of its own,
-- with the same amount the other way round.
create table settlements (
  id uuid primary key,
  client_id text collate "C" not null references apps,
  -- 1, 2, 3 … for each app.
  number integer not null check (number > 0),
  -- Null for a period from the beginning.
  from_day date,
  through_day date not null check (from_day <= through_day),
  -- Below zero when the app owes it.
  amount bigint not null check (amount <> 0),
  -- Of the payout at the bank; of a row that takes a mark back, why.
  reference text not null check (length(reference) between 1 and 500),
  reverses uuid unique references settlements,
  made_by text not null,
  made_at timestamptz not null default now(),
  unique (client_id, number)
);
create trigger settlements_append_only before update or delete on settlements
  for each row execute function refuse_change();
create trigger settlements_never_emptied before truncate on settlements
  for each statement execute function refuse_change();
