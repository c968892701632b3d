-- Creates a session. ARGV: record, serial, index key, nonce, bytes of the record, the earliest
-- expiry in ms or 0, the caller's account, subscriptions.
if redis.call('EXISTS', K) == 1 and redis.call('HGET', K, 'nonce') ~= ARGV[A + 4] then
  return { 'exists', '' }
end
local idx, account, size = now + ttl * 1.5, maxowned > 0 and ARGV[A + 7] or '', tonumber(ARGV[A + 5])
sess = { lent = tonumber(redis.call('HGET', K, 'lent') or 0) }
local refused = afford(account, size, idx)
if refused then
  table.insert(refused, 2, '')
  return refused
end
if redis.call('HSETNX', K, 'rec', ARGV[A + 1]) == 1 then
  -- An expired session with the same id may have left some.
  redis.call('DEL', K .. ':s')
  for i = A + 8, #ARGV do redis.call('ZADD', K .. ':s', i - A - 7, ARGV[i]) end
  redis.call('HSET', K, 'ser', ARGV[A + 2], 'rb', ARGV[A + 5], 'acct', ARGV[A + 7], 'lent', int(sess.lent))
  if #ARGV > A + 7 then redis.call('HSET', K, 'subs', #ARGV - A - 7) end
  if ARGV[A + 6] ~= '0' then redis.call('HSET', K, 'kp', ARGV[A + 6]) end
end
redis.call('HSET', K, 'own', ARGV[A + 3], 'nonce', ARGV[A + 4], 'idx', int(idx))
return run(function() return { 'ok' } end)
