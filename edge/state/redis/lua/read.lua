-- Reads a log after a position. It is no use of the session. ARGV: stream, epoch, seq, most chunks,
-- bytes that end a page, how far the epoch may be ahead. Returns what the Redis stream has (see shed), which may begin with entries up to the
-- position, the epoch, 1 when nothing will follow, 1 when nothing does, the trace of the stream's first call, and
-- the floor.
local stream, epoch, seq, most = ARGV[A + 1], tonumber(ARGV[A + 2]), tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4])
if redis.call('EXISTS', K) == 0 then return { 'gone', '' } end
local s = redis.call('HEXISTS', K .. ':m', 's:' .. stream) == 1 and not lapsed(stream) and loadstream(stream)
if not s or epoch > s.ep + tonumber(ARGV[A + 6]) then return { 'missing', '' } end
if epoch > s.ep or seq > s.seq then
  local ending = int(s.ep) .. ' ' .. int(s.seq)
  raise(s, epoch)
  return { 'rollback', '', ending, 1 }
end
local more = redis.call('HMGET', K .. ':t:' .. stream, 'rises', 'tr')
local rises, trace = more[1] and cmsgpack.unpack(more[1]) or {}, more[2] or ''
for i = 1, #rises, 2 do
  if rises[i] >= epoch and seq > rises[i + 1] then return { 'rollback', '', int(s.ep) .. ' ' .. int(s.seq), 0 } end
end
local log, entries, bytes, from = K .. ':l:' .. stream, {}, 0, '(' .. int(seq) .. '-0'
repeat
  local want = math.min(most - #entries, 32)
  local got = redis.call('XRANGE', log, from, '+', 'COUNT', want)
  for _, e in ipairs(got) do
    local size = #e[2][#e[2]]
    if #entries > 0 and bytes + size > tonumber(ARGV[A + 5]) then
      return { 'ok', '', entries, int(s.ep), 0, 0, trace, int(s.floor) }
    end
    table.insert(entries, e)
    bytes, from = bytes + size, '(' .. e[1]
  end
until #got < want or #entries >= most
local atend = #redis.call('XRANGE', log, from, '+', 'COUNT', 1) == 0
return { 'ok', '', entries, int(s.ep), atend and s.unf == 0 and 1 or 0, atend and 1 or 0, trace, int(s.floor) }
