-- Revalidates a copy and renews what this replica follows. Returns the serial.
return run(function()
  for _, m in ipairs(redis.call('ZRANGE', K .. ':f', 0, -1)) do
    if string.match(m, '^%S+') == me then redis.call('ZADD', K .. ':f', 'XX', int(now + lease), m) end
  end
  return { 'ok', redis.call('HGET', K, 'ser') }
end)
