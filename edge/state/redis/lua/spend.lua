-- Records what a caller used, such as a proof or a confirmation. KEYS[1]: what the caller used, scored by its expiry in ms.
-- ARGV: the digest of it, for how many ms it is kept, and the bound of what is recorded of the caller. Returns 1, or 0 if it was
-- used before, or -1 if the bound is reached.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
