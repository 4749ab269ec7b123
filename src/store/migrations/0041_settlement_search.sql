-- The search of the admin area finds a payout by the beginning of its reference.
create index settlements_reference_search on settlements (lower(reference) collate "C", id);
