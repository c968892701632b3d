-- Reads a session. Returns record and serial.
return run(function() return { 'ok', redis.call('HGET', K, 'rec'), redis.call('HGET', K, 'ser') } end)
