-- Nothing writes or reads it.
alter table books_check drop column log_started_at;
