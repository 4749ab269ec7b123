-- For a cluster: the time on the node that has the wallet, whichever node coordinates the batch, so that the entries of one wallet
-- never go back in time although each node has a clock of its own. It is not immutable: Citus lets an UPDATE return nothing else,
-- and as it takes the row's own key it is called on the node, once the row is locked.
create function wallet_clock(wallet_id uuid) returns timestamptz language plpgsql immutable as $$
begin
  return clock_timestamp();
end $$;
