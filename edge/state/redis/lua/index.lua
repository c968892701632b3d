-- Adds an unfinished stream to the index. KEYS[1]: the bucket. ARGV: member, life of the bucket in
-- ms, the time in ms until its first check.
redis.call('ZADD', KEYS[1], string.format('%.3f', clock[1] * 1000 + clock[2] / 1000 + ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
