-- Reads a session. Returns the result of record, and the request ids of the unfinished calls.
return run(function()
  local requests = {}
  local map = sess.run > 0 and redis.call('HGETALL', K .. ':m') or {}
  for i = 1, #map, 2 do
    if string.sub(map[i], 1, 2) == 'r:' then
      local phase = redis.call('HGET', K .. ':c:' .. map[i + 1], 'ph')
      if phase and phase ~= DONE then table.insert(requests, string.sub(map[i], 3)) end
    end
  end
  return { 'ok', record(), requests }
end)
