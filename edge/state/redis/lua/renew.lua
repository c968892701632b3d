-- Renews a session in its principal's index. KEYS[1]: the index. ARGV: session, until in ms.
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
local top = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', tonumber(top[2])))
return 1
