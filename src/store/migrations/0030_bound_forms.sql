-- The id of an order binds its content: the same id with other content is refused, and the same content gets the first result.
-- A row of an older process has no content.
alter table operator_forms add column content jsonb, add column result jsonb;
