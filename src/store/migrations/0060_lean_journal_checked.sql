-- Its own transaction, because it reads the whole table: this lock lets debits go on meanwhile.
alter table journal validate constraint journal_row_check;
