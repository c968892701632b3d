-- Returns the call of a stream that has one call, without its log: the record, the summary of the
-- log, the phase, if it waits the unanswered questions, and the call's id. It does not count as a use
-- of the session. ARGV: stream.
local calls = redis.call('EXISTS', K) == 1 and callsof(ARGV[A + 1])
if not calls or lapsed(ARGV[A + 1]) then return { 'gone', '' } end
local key, waits = K .. ':c:' .. calls[1], {}
local c = redis.call('HMGET', key, 'v', 'br', 'ph', 'hd', 'na')
if c[1] ~= LAYOUT then return { 'gone', '' } end
if c[3] == WAITING and c[4] ~= '1' then
  for i = 1, tonumber(c[5] or 0) do
    if redis.call('HEXISTS', key, 'r:' .. i) == 0 then table.insert(waits, redis.call('HGET', key, 'i:' .. i)) end
  end
end
return { 'ok', '', record(), c[2] or '', c[3], waits, calls[1] }
