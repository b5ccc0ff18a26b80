-- A table with an index, changed and asked in several ways.
create table t(id integer primary key, word text, n real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 3000)
  insert into t select i, 'word' || (i * 7919 % 1000), i / 3.0 from c;
create index byword on t(word);
update t set n = n * 2 where id % 3 = 0;
delete from t where id % 7 = 0;
select word, count(*), sum(n) from t group by word order by 2 desc, 1 limit 10;
select group_concat(word) from (select distinct word from t order by word limit 50);
-- Texts that its allocator has no room set aside for.
select sum(length(replace(hex(zeroblob(1000 + id % 500)), '0', 'ab'))),
       sum(length(hex(zeroblob(2000 + id)))), max(printf('%2000d', id)) from t where id % 3 = 0;
