-- Plans that do not hang on statistics.

-- A link is looked up by its id alone. The partial index on live links looked like the cheapest way to any of them on a
-- table that was never analysed, because "disconnected_at is null" is then taken to be rare: every debit walked all links.
-- This one is not partial and begins with the user, so it fits no look-up but a user's. A link that is live has no
-- disconnected_at, and two of one app and user are then equal; it also finds a user's links, as links_user_id did.
drop index links_live;
create unique index links_live on links (user_id, client_id, disconnected_at) nulls not distinct;
drop index links_user_id;
