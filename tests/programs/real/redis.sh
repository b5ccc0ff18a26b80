# A server and its clients, over a socket in this directory.
redis-server --port 0 --unixsocket "$PWD/s" --save '' --daemonize no --logfile log --dir "$PWD" &
until redis-cli -s "$PWD/s" ping >/dev/null 2>&1; do sleep 0.02; done
i=0; while [ $i -lt 300 ]; do echo "set key$i value$i$i$i"; echo "lpush list $i"; i=$((i+1)); done |
  redis-cli -s "$PWD/s" | sort | uniq -c
redis-cli -s "$PWD/s" <<END
zadd z 3 c 1 a 2 b
zrange z 0 -1 withscores
lrange list 0 5
append key7 more
get key7
eval "local t = {} for i = 1, 100 do t[i] = i * i end return t[100]" 0
dbsize
END
redis-cli -s "$PWD/s" shutdown nosave
wait; rm -f log
