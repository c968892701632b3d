-- Returns the unfinished calls of some streams. It does not count as a use of the session. ARGV:
-- the longest time in ms for which a waiting stream need not be checked; streams. Returns for each
-- stream its unfinished calls, as id, epoch, owner or "", 1 if any replica may claim it; no call
-- means that the stream does not exist or has ended. It also returns for each stream the time in ms
-- until the next check, unless it is indexed before; 0 means at once.
local out, again = {}, {}
for i = A + 2, #ARGV do
  local calls, list = redis.call('EXISTS', K) == 1 and callsof(ARGV[i]) or {}, {}
  local due = #calls > 0 and now + tonumber(ARGV[A + 1]) or 0
  for j = 1, #calls, 2 do
    local c = redis.call('HMGET', K .. ':c:' .. calls[j], 'ph', 'ep', 'ow', 'hd', 'dl', 'n', 'cl', 'miss')
    if c[1] and c[1] ~= DONE then
      local deadline, held = tonumber(c[5]), c[4] == '1'
      local late = deadline > 0 and now > deadline
      local waits = not held and c[1] == WAITING and tonumber(c[8]) > 0
      local left = not held and not waits
      local unwritten = held and c[6] == '0' and c[7] and now - tonumber(c[7]) > claimlife and counter(tonumber(c[2])) > 1
      table.insert(list, calls[j])
      table.insert(list, c[2])
      table.insert(list, held and c[3] or '')
      table.insert(list, (late or left or unwritten) and '1' or '0')
      if late or not waits then due = 0 elseif deadline > 0 then due = math.min(due, deadline + 1) end
    end
  end
  table.insert(out, list)
  table.insert(again, #list > 0 and int(due) or '0')
end
return { 'ok', '', out, again }
