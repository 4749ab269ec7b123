-- Its own transaction, because it reads the whole table: this lock lets debits and credits go on meanwhile.
alter table transfers validate constraint transfers_not_overdrawn;
