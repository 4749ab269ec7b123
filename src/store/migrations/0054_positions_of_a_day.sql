-- Which leaves a day has. In version 1 an account has a leaf for what it moved since the sealed day before. In version 2 every account has one
-- for all that it has moved, so that its position can be proven alone, and the sum of all wallets is a leaf beside them.
alter table log_days add column version smallint not null default 1 constraint log_days_version_check check (version in (1, 2));
-- In version 2 `marks` has the whole hash of each leaf, that of the sum first.
alter table log_days drop constraint log_days_marks_check;
alter table log_days add constraint log_days_marks_check check (octet_length(marks) = case version when 1 then 6 * cardinality(accounts) else 32 * (cardinality(accounts) + 1) end);
