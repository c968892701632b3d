-- Records an id that a caller used, such as that of a proof or a confirmation. KEYS[1]: the ids
-- that the caller used, scored by their expiry in ms. ARGV: the digest of the id, the time for
-- which it is kept in ms, and the bound of the caller's ids. Returns 1, 0 if the id was used
-- before, or -1 if the bound is reached.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('ZADD', KEYS[1], int(now + ARGV[2]), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
