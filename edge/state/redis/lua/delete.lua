-- Erases a session and all that belongs to it; its holders can be rung for 10 s more. Returns the index
-- key and the unfinished streams.
if redis.call('EXISTS', K) == 0 then return { 'gone', '' } end
local own, unfinished = redis.call('HGET', K, 'own'), {}
for _, field in ipairs(redis.call('HKEYS', K .. ':m')) do
  if string.sub(field, 1, 2) == 's:' then
    local stream = string.sub(field, 3)
    if not redis.call('ZSCORE', K .. ':e', stream) then table.insert(unfinished, stream) end
    dropstream(stream)
  end
end
wake(nil)
redis.call('ZREM', K .. ':h', me)
redis.call('DEL', K .. ':x')
if redis.call('EXISTS', K .. ':h') == 1 then
  redis.call('RENAME', K .. ':h', K .. ':x')
  redis.call('PEXPIRE', K .. ':x', 10000)
end
redis.call('DEL', K, K .. ':h', K .. ':m', K .. ':e', K .. ':f')
return { 'ok', '', own, unfinished }
