-- Tells how the calls of some streams stand. It is no use of the session. ARGV: streams. Returns for
-- each stream its calls that are not done, as id, epoch, owner or "", 1 if anybody may claim it; no call means that
-- the stream is not there or has ended.
local out = {}
for i = A + 1, #ARGV do
  local calls, list = redis.call('EXISTS', K) == 1 and callsof(ARGV[i]) or {}, {}
  for j = 1, #calls, 2 do
    local c = redis.call('HMGET', K .. ':2c:' .. calls[j], 'ph', 'ep', 'ow', 'hd', 'dl', 'n', 'cl', 'miss')
    if c[1] and c[1] ~= DONE then
      local deadline, held = tonumber(c[5]), c[4] == '1'
      local late = deadline > 0 and now > deadline
      local left = not held and (c[1] ~= WAITING or tonumber(c[8]) == 0)
      local unwritten = held and c[6] == '0' and c[7] and now - tonumber(c[7]) > claimlife and counter(tonumber(c[2])) > 1
      table.insert(list, calls[j])
      table.insert(list, c[2])
      table.insert(list, held and c[3] or '')
      table.insert(list, (late or left or unwritten) and '1' or '0')
    end
  end
  table.insert(out, list)
end
return { 'ok', '', out }
