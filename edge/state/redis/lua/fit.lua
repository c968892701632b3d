-- Uses all commands of the other scripts. KEYS[1]: an unused key. ARGV: a channel of the caller,
-- and the key's life in ms in case this script is killed. Returns 1, and leaves nothing.
redis.call('TIME')
redis.call('HSET', KEYS[1], 'field', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], 1, 'member')
redis.call('ZRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
redis.call('XADD', KEYS[1], '*', 'field', 1)
redis.call('XRANGE', KEYS[1], '-', '+')
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], '')
return 1
