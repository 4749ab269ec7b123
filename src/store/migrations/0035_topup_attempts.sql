-- The amount that the processor was asked to change an unpaid payment to, until it has answered. A payment of either amount is what
-- was ordered. Older processes know only `amount`, which the next answer of the processor brings up to date.
alter table topups add column next_amount bigint check (next_amount > 0);
-- Why the payer's last attempt took no money; null without an attempt. Rows of older processes have none.
alter table topups add column failure text
  check (failure in ('declined', 'authentication', 'unconfirmed', 'cancelled', 'failed'));
