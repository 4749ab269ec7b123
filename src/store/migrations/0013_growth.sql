-- What years of use add is merged or removed in small batches; each of them finds its rows by one of these.

-- Positions that were not yet merged into one row a day: few at any time. No column of it ever changes, so a debit's update of
-- its position row stays heap-only.
create index positions_unmerged on positions (day) where writer <> 1000000;

-- By the first time, which never changes: noting one more repeat touches no index.
create index repeats_first_at on repeats (first_at);

create index operator_forms_sent_at on operator_forms (sent_at);
