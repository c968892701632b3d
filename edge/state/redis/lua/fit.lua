-- Tries what the other scripts do. KEYS[1]: a key that nothing else uses. ARGV: a channel of the caller, and for how many milliseconds
-- the key stays if this script is ended. Returns 1, and leaves nothing.
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
