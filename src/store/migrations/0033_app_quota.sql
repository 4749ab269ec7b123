-- How many debits and credits an app may have under way in each process; null for the default of the service.
alter table apps add column max_operations integer check (max_operations between 1 and 1000000);
