-- Adds an unfinished stream to the index, due at once. KEYS[1]: the bucket. ARGV: member, life of
-- the bucket in ms.
redis.call('ZADD', KEYS[1], string.format('%.3f', clock[1] * 1000 + clock[2] / 1000), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
