-- A second guard against an overdraft, for each entry: a debit that leaves the balance below zero takes back card money (a
-- charge-back of what was spent). A credit may leave it below zero too, when it repays a part of a debt.
-- NOT VALID, so that the lock is short on a table of any size; the next migration checks the entries that are there.
alter table transfers add constraint transfers_not_overdrawn
  check (balance_after >= 0 or amount > 0 or counter_account = 'cards') not valid;
