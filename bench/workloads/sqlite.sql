-- Inserts, an index, grouping, joins and text functions, in memory. :rows is replaced.
create table person(id integer primary key, name text, score real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < :rows)
insert into person select x, 'name' || (x * 7919 % 100003), x * 1.5 from n;
create index by_name on person(name);
select count(*), sum(score) from person where name like 'name1%';
select name, count(*) from person group by name order by 2 desc, 1 limit 3;
create table note(person integer, body text);
insert into note select id, upper(name) || ' ' || hex(id) || ' ' || printf('%08.3f', score)
  from person;
select count(*), max(length(body)) from note join person on person.id = note.person
  where substr(name, 5, 1) in ('3', '5', '7');
select group_concat(body, ',') is not null from note;
