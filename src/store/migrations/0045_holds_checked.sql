-- Its own transaction, because it reads the whole table: this lock lets debits and credits go on meanwhile.
alter table outcomes validate constraint outcomes_transfer_or_refusal;
