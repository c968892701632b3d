-- Looks up an id that a caller may have used. KEYS[1]: the ids that the caller used, scored by
-- their expiry in ms. ARGV: the digest of the id. Returns 1 if it was used and has not expired, and
-- otherwise 0.
local until_ms = redis.call('ZSCORE', KEYS[1], ARGV[1])
if until_ms and tonumber(until_ms) > now then return 1 end
return 0
