-- Most work is never given up: an index of all of it made every new piece, such as that of a wallet with a hold, cost more.
drop index work_given_up;
create index work_given_up on work (given_up_at) where given_up_at is not null;
