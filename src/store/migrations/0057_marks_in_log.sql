-- The first four bytes of each leaf of a wallet's tree are in the leaf of the log that added them: one row less for each wallet and pass,
-- and no row of them is ever rewritten. Of what was sealed before, a change is named by the range of entries.
alter table log_leaves add column marks bytea constraint log_leaves_marks_check check (octet_length(marks) % 4 = 0);
-- Hashes do not get smaller.
alter table log_leaves alter column marks set storage external;
drop table wallet_marks;

-- Each pass updates these rows: with room for the new version in the page, no index is touched.
alter table wallet_heads set (fillfactor = 70);
