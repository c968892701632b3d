-- Returns the call that waits for an answer, with the code "waits". ARGV: ask.
return run(function()
  local where = redis.call('HGET', K .. ':m', 'q:' .. ARGV[A + 1])
  if not where then return { 'unknown' } end
  local i, call = string.match(where, '^(%d+) (.*)$')
  local c = redis.call('HMGET', K .. ':c:' .. call, 'ph', 'hd', 'r:' .. i, 'v')
  if c[4] and c[4] ~= LAYOUT then return { 'layout', c[4] } end
  if c[1] ~= WAITING or c[2] == '1' or c[3] then return { 'unknown' } end
  return { 'waits', owned(call) }
end)
