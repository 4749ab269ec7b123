-- Hashes of addresses get a key. Processes of the previous release store them without one; a job converts those rows.

alter table user_addresses add column is_keyed boolean not null default false;
create index user_addresses_plain on user_addresses (user_id) where not is_keyed;
alter table operator_addresses add column is_keyed boolean not null default false;
create index operator_addresses_plain on operator_addresses (operator_id) where not is_keyed;
