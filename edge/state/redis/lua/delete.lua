-- Deletes a session with all its keys; its holders can be notified for some time longer. ARGV: that
-- time in ms. Returns the index key, the unfinished streams, and the caller's account, which may be
-- on another server.
if redis.call('EXISTS', K) == 0 then
  return { redis.call('EXISTS', K .. ':x') == 1 and 'erased' or 'gone', '' }
end
local own, account, unfinished = redis.call('HGET', K, 'own'), redis.call('HGET', K, 'acct') or '', {}
if account ~= '' and not apart then giveback(account, K) end
for _, field in ipairs(redis.call('HKEYS', K .. ':m')) do
  if string.sub(field, 1, 2) == 's:' then
    local stream = string.sub(field, 3)
    if not redis.call('ZSCORE', K .. ':e', stream) then table.insert(unfinished, stream) end
    dropstream(stream)
  end
end
wake(nil)
-- This includes this replica: if the reply is lost, another one may repeat the deletion.
redis.call('ZADD', K .. ':h', now, me)
redis.call('RENAME', K .. ':h', K .. ':x')
redis.call('PEXPIRE', K .. ':x', ARGV[A + 1])
redis.call('DEL', K, K .. ':m', K .. ':e', K .. ':f', K .. ':s')
return { 'ok', '', own, unfinished, account }
