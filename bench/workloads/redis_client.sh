#!/bin/sh
# Loads the redis-server at PORT of this machine and ends it. redis_client.sh PORT REQUESTS
#
# Requests come 16 at a time, or the server would mostly wait in system calls. A server that does
# not answer within 20 seconds is given up.
set -eu
port=$1 requests=$2

tries=0
until redis-cli -h 127.0.0.1 -p "$port" ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || exit 1
    sleep 0.1
done
timeout 120 redis-benchmark -h 127.0.0.1 -p "$port" -n "$requests" -c 20 -P 16 -r 10000 -q \
    -t set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100,mset >/dev/null
redis-cli -h 127.0.0.1 -p "$port" shutdown nosave >/dev/null 2>&1 || true
