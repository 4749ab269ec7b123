-- Closed periods of the ledger. `billfold close` renames transfers and outcomes to closed_transfers_<id> and closed_outcomes_<id>, and creates
-- both anew, empty: from then on no debit touches the indexes of what is closed. What reads the ledger reads the two views.
create table closings (
  -- 1, 2, 3 …
  id integer primary key check (id > 0),
  closed_at timestamptz not null default clock_timestamp(),
  -- After a failover that lost it, another closing may have its id, and never its mark.
  mark uuid not null default gen_random_uuid(),
  -- Null until its rows were counted and its filter is complete.
  transfers bigint check (transfers >= 0),
  outcomes bigint check (outcomes >= 0),
  indexed_at timestamptz,
  constraint closings_counted check (num_nonnulls(transfers, outcomes, indexed_at) in (0, 3))
);

-- The filter of the references of a closed period, in parts of at most one mebibyte: a service reads it into its memory.
create table closed_references (
  closing_id integer not null references closings (id),
  part integer not null check (part >= 0),
  bytes bytea not null check (octet_length(bytes) between 32 and 1048576),
  primary key (closing_id, part)
);
alter table closed_references alter column bytes set storage external;

create view all_transfers as select * from transfers;
create view all_outcomes as select * from outcomes;
