-- Stores an operator's act with the time of this server. The time is increased if it is not later
-- than the greatest one that the replica knew, and than the stored one. KEYS[1], KEYS[2]: values
-- and digests. ARGV: the name, the greatest time that the replica knew in ms, the value before and
-- after its time, and the digest without its time. Returns the time. A digest begins with the time,
-- in 16 hexadecimal digits, and a point.
local at = math.max(now, ARGV[2] + 1)
local was = tonumber(string.match(redis.call('HGET', KEYS[2], ARGV[1]) or '', '^(' .. string.rep('%x', 16) .. ')%.') or '', 16)
if was and was < 253402300799999 then at = math.max(at, was + 1) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. int(at) .. ARGV[4])
redis.call('HSET', KEYS[2], ARGV[1], string.format('%016x', at) .. '.' .. ARGV[5])
return int(at)
