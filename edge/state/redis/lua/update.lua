-- Replaces the record if it is still the one that was read. ARGV: old serial, new serial, new record.
-- Returns the record in force when it is not.
return run(function()
  if redis.call('HGET', K, 'ser') ~= ARGV[A + 1] then return { 'conflict', redis.call('HGET', K, 'rec') } end
  redis.call('HSET', K, 'ser', ARGV[A + 2], 'rec', ARGV[A + 3])
  return { 'ok', '' }
end)
