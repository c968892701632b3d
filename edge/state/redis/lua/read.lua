-- Reads a log after a position; it changes nothing and is no use of the session. ARGV: stream, epoch, seq, most chunks,
-- bytes that end a page, how far the epoch's counter may be ahead. Returns what the Redis stream has (see shed), which
-- may begin with entries up to the position, the epoch, 1 when nothing will follow, 1 when nothing does, the trace of
-- the stream's first call, the floor, and 1 when it is read from the start since the position's entry was lost, or is
-- of another history, or 2 when the log does not reach the position.
local stream, epoch, seq, most = ARGV[A + 1], tonumber(ARGV[A + 2]), tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4])
if redis.call('EXISTS', K) == 0 then return { 'gone', '' } end
local s = redis.call('HEXISTS', K .. ':m', 's:' .. stream) == 1 and not lapsed(stream) and loadstream(stream)
if not s or counter(epoch) > counter(s.ep) + tonumber(ARGV[A + 6]) then return { 'missing', '' } end
local more = redis.call('HMGET', K .. ':t:' .. stream, 'rises', 'tr')
local trace, ahead, rewound = more[2] or '', false, 0
if epoch == 0 then
  seq = 0
elseif epoch == s.ep then
  ahead = seq > s.seq
else
  local past, last = more[1] and cmsgpack.unpack(more[1]) or {}, nil
  for i = 1, #past, 2 do
    if past[i] == epoch then last = past[i + 1] end
  end
  ahead = not last and counter(epoch) > counter(s.ep)
  if not last or seq > last then seq, rewound = 0, 1 end
end
if ahead then return { 'ok', '', {}, int(s.ep), s.unf == 0 and 1 or 0, 1, trace, 0, 2 } end
local log, entries, bytes, from = K .. ':l:' .. stream, {}, 0, '(' .. int(seq) .. '-0'
repeat
  local want = math.min(most - #entries, 32)
  local got = redis.call('XRANGE', log, from, '+', 'COUNT', want)
  for _, e in ipairs(got) do
    local size = #e[2][#e[2]]
    if #entries > 0 and bytes + size > tonumber(ARGV[A + 5]) then
      return { 'ok', '', entries, int(s.ep), 0, 0, trace, int(s.floor), rewound }
    end
    table.insert(entries, e)
    bytes, from = bytes + size, '(' .. e[1]
  end
until #got < want or #entries >= most
local atend = #redis.call('XRANGE', log, from, '+', 'COUNT', 1) == 0
return { 'ok', '', entries, int(s.ep), atend and s.unf == 0 and 1 or 0, atend and 1 or 0, trace, int(s.floor), rewound }
