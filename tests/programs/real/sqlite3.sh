sqlite3 db < words.sql
