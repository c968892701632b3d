-- Registers a follower, or renews it. It does not count as a use of the session, but keeps the
-- session while the replica lives. ARGV: member.
if redis.call('EXISTS', K) == 0 then return { 'gone', '' } end
local till = now + math.max(lease, renewal)
redis.call('ZADD', K .. ':f', int(till), ARGV[A + 1])
if till > now + redis.call('PTTL', K) then redis.call('PEXPIREAT', K, int(till)) end
till = math.max(till, tonumber(redis.call('HGET', K, 'aux') or 0))
for _, suffix in ipairs({ ':h', ':m', ':e', ':f', ':s' }) do
  redis.call('PEXPIREAT', K .. suffix, int(till))
end
redis.call('HSET', K, 'aux', int(till))
return { 'ok', '' }
