-- Where an operator signed in from before: a stranger's failures never hold up these.
create table operator_addresses (
  operator_id uuid not null references operators on delete cascade,
  address_hash bytea not null check (length(address_hash) = 32),
  last_at timestamptz not null,
  primary key (operator_id, address_hash)
);
