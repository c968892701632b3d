-- Looks for something that a caller used. KEYS[1]: what the caller used, scored by its expiry in ms. ARGV: the digest of it. Returns 1 if it
-- was used and its time is not over, else 0.
local until_ms = redis.call('ZSCORE', KEYS[1], ARGV[1])
local clock = redis.call('TIME')
if until_ms and tonumber(until_ms) > clock[1] * 1000 + math.floor(clock[2] / 1000) then return 1 end
return 0
