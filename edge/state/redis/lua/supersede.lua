-- Stores values that are later than those that are stored, and deletes values that have not changed. KEYS[1], KEYS[2]: values and
-- digests. ARGV: the number of values; of each the name, digest and value; of each to delete the name and digest. A digest begins with
-- the time, in 16 hexadecimal digits and a point; one that does not, or has an implausible time, is superseded.
local at, time = 2, '^(' .. string.rep('%x', 16) .. ')%.'
for _ = 1, tonumber(ARGV[1]) do
  local name, digest = ARGV[at], ARGV[at + 1]
  local was = redis.call('HGET', KEYS[2], name) or ''
  local before, now = tonumber(string.match(was, time) or '', 16), tonumber(string.match(digest, time) or '', 16)
  if not before or before > 253402300799999 or now and (now > before or now == before and digest > was) then
    redis.call('HSET', KEYS[1], name, ARGV[at + 2])
    redis.call('HSET', KEYS[2], name, digest)
  end
  at = at + 3
end
for i = at, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
  end
end
return 1
