-- Counts a use of the session. Returns the serial.
return run(function() return { 'ok', redis.call('HGET', K, 'ser') } end)
