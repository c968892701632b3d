-- Makes a session. ARGV: record, serial, index key, nonce.
if redis.call('EXISTS', K) == 1 and redis.call('HGET', K, 'nonce') ~= ARGV[A + 4] then
  return { 'exists', '' }
end
redis.call('HSETNX', K, 'rec', ARGV[A + 1])
redis.call('HSETNX', K, 'ser', ARGV[A + 2])
redis.call('HSET', K, 'own', ARGV[A + 3], 'nonce', ARGV[A + 4], 'idx', int(now + ttl * 1.5))
return run(function() return { 'ok' } end)
