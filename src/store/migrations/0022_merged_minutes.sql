-- Minutes that nobody looks at one by one any more are merged, all processes together: a row tells how many it stands for.
alter table minutes add column processes integer not null default 1;
