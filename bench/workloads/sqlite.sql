-- Inserts, an index, grouping, a join, updates and deletes, in memory. :rows is replaced.
create table person(id integer primary key, name text, score real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < :rows)
insert into person select x, 'name' || (x * 7919 % 100003), x * 1.5 from n;
create index by_name on person(name);
select count(*), sum(score) from person where name like 'name1%';
select name, count(*) from person group by name order by 2 desc, 1 limit 3;
create table visit(person integer, day integer, length real);
insert into visit select id * 7 % :rows + 1, id % 365, score / 3 from person;
create index by_day on visit(day, person);
select day, avg(length), count(*) from visit join person on person.id = visit.person
  where score > 10 group by day order by 2 desc limit 5;
update person set score = score + 1 where id % 3 = 0;
delete from visit where day between 100 and 120;
select count(*), min(length), max(length) from visit;
