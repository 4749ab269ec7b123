-- Archived periods. `billfold archive drop` replaces the two tables of a closed period by what the ledger still needs of it, in four tables:
-- archived_entries_<id> has the last archived entry of each wallet, archived_sums_<id> what the entries before those moved, archived_references_<id> the
-- outcomes of its references in compact blocks, and archived_wallet_ids_<id> the wallets that those name by number. The views and functions below find them.
create table archives (
  closing_id integer primary key references closings (id),
  archived_at timestamptz not null default clock_timestamp(),
  -- Of the manifest of its files.
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  refusals bigint not null check (refusals >= 0),
  holds bigint not null check (holds >= 0),
  -- By table: the SHA-256 of the rows that stay in the database.
  carried jsonb not null
);

-- The entries that are in the database. is_archived: the wallet's entries before this one are in files.
do $$
declare
  closed text;
begin
  select coalesce(string_agg(format(' union all select *, false from closed_transfers_%s', id), '' order by id), '') into closed from closings;
  execute 'create or replace view all_transfers as select *, false as is_archived from transfers' || closed;
end
$$;

create view archived_wallets as select wallet_id, sequence, null::bytea as peaks from transfers where false;

-- What each account moved by day in the entries that only the files have, in all archived periods.
create view archived_sums as select null::text collate "C" as counter_account, null::date as day, null::numeric as debited, null::numeric as credited,
  null::bigint as transfers where false;

create view archived_references as select null::integer as closing_id, null::uuid as first_key, null::smallint as keys, null::smallint as prefix_bits,
  null::smallint as wallet_bits, null::smallint as amount_bits, null::smallint as balance_bits, null::smallint as held_bits, null::bit varying as bits
  where false;

create view archived_wallet_ids as select null::integer as closing_id, null::integer as part, null::uuid[] as ids where false;

-- The outcomes of references from one key to another in archived periods, at most one for each period; of a key alone, its outcome. A block has records
-- of one width, in the order of their keys: the bits of the key after those that all keys of the block share, up to the 88th; the number of the
-- wallet; the amount without its sign, the sign, and what happened (0: an entry, 1 and 2: a refusal, 3: a hold); the balance without its sign, and the
-- sign; what was held.
create function archived_between(low uuid, high uuid)
returns table (wallet_id uuid, amount bigint, balance bigint, refusal text, held bigint, is_hold boolean)
language plpgsql stable rows 1 as $$
declare
  low_bits constant bit varying := substring(('x' || replace(low::text, '-', ''))::bit(128) from 1 for 88);
  high_bits constant bit varying := substring(('x' || replace(high::text, '-', ''))::bit(128) from 1 for 88);
  archive integer;
  block record;
  prefix bit varying;
  key_width integer;
  width integer;
  first integer;
  beyond integer;
  middle integer;
  rest bit varying;
  number integer;
  moved bigint;
begin
  for archive in select a.closing_id from archives a order by 1 loop
    select r.* into block from archived_references r where r.closing_id = archive and r.first_key <= high order by r.first_key desc limit 1;
    continue when not found;
    prefix := substring(('x' || replace(block.first_key::text, '-', ''))::bit(128) from 1 for block.prefix_bits);
    key_width := 88 - block.prefix_bits;
    width := key_width + block.wallet_bits + block.amount_bits + block.balance_bits + block.held_bits;
    -- The last record up to high is the one before `first`.
    first := 0;
    beyond := block.keys;
    while first < beyond loop
      middle := (first + beyond) / 2;
      if prefix || substring(block.bits from middle * width + 1 for key_width) <= high_bits then
        first := middle + 1;
      else
        beyond := middle;
      end if;
    end loop;
    continue when first = 0 or prefix || substring(block.bits from (first - 1) * width + 1 for key_width) < low_bits;
    rest := substring(block.bits from (first - 1) * width + key_width + 1 for width - key_width);
    number := substring(rest from 1 for block.wallet_bits)::bigint;
    select w.ids[number % 100 + 1] into wallet_id from archived_wallet_ids w where w.closing_id = archive and w.part = number / 100;
    moved := substring(rest from block.wallet_bits + 1 for block.amount_bits)::bigint;
    amount := (moved >> 3) * (1 - 2 * ((moved >> 2) & 1));
    refusal := case moved & 3 when 1 then 'INSUFFICIENT_BALANCE' when 2 then 'BALANCE_LIMIT' end;
    is_hold := case moved & 3 when 3 then true end;
    moved := substring(rest from block.wallet_bits + block.amount_bits + 1 for block.balance_bits)::bigint;
    balance := (moved >> 1) * (1 - 2 * (moved & 1));
    held := substring(rest from block.wallet_bits + block.amount_bits + block.balance_bits + 1 for block.held_bits)::bigint;
    return next;
  end loop;
end
$$;

-- The outcomes of these references in archived periods. Without an archived period, no key is looked at.
create function archived_outcomes(keys uuid[])
returns table (reference_key uuid, wallet_id uuid, amount bigint, balance bigint, refusal text, held bigint, is_hold boolean)
language plpgsql stable rows 1 as $$
begin
  if exists (select from archives) then
    return query select k.asked, a.wallet_id, a.amount, a.balance, a.refusal, a.held, a.is_hold
      from unnest(keys) as k(asked) cross join lateral archived_between(k.asked, k.asked) a;
  end if;
end
$$;
