-- Reads a log after a position. It changes nothing, and does not count as a use of the session.
-- ARGV: stream, epoch, seq, most chunks, bytes that end a page. Returns the items of the Redis
-- stream (see shed), which may begin with entries up to the position, the floor, 1 if the log has
-- no more, 1 if the stream has ended, the trace of its first call, 1 if the position is ahead of
-- the log, 2 if it is ahead of the log of a batch: the items are then the whole log, the epoch and
-- number of the log's last entry, where its epochs begin, and, if the position is ahead, the
-- unanswered questions, each as id, message.
local stream, epoch, seq, most = ARGV[A + 1], tonumber(ARGV[A + 2]), tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4])
if redis.call('EXISTS', K) == 0 then return { 'gone', '' } end
local calls = callsof(stream)
local s = calls and not lapsed(stream) and loadstream(stream)
if not s then return { 'missing', '' } end
local log, g, last, from, begin = K .. ':l:' .. stream, s.segments, s.ep, 0, {}
if s.batch == 0 and s.cnt == 0 then last = tonumber(redis.call('HGET', K .. ':c:' .. calls[1], 'ep')) or last end
for _, v in ipairs(g) do table.insert(begin, int(v)) end
local trace = redis.call('HGET', K .. ':t:' .. stream, 'tr') or ''
local function page(entries, all, ahead, questions)
  return { 'ok', '', entries, int(s.floor), all and 1 or 0, s.unf == 0 and 1 or 0, trace, ahead or 0, int(last), int(s.seq), begin, questions or {} }
end
if epoch > 0 or seq > 0 then
  from = s.seq
  for i = 1, #g, 2 do
    if counter(g[i]) >= counter(epoch) then
      from = g[i + 1]
      if g[i] == epoch then from = math.max(from, math.min(seq, g[i + 3] or s.seq)) end
      break
    end
  end
end
if counter(epoch) > counter(last) or epoch == last and seq > s.seq then
  local kept, questions = {}, {}
  for _, e in ipairs(redis.call('XRANGE', log, '-', '+')) do
    if e[2][1] == 'k' then table.insert(kept, e) end
  end
  for i = 1, #calls, 2 do
    local key = K .. ':c:' .. calls[i]
    for j = 1, tonumber(redis.call('HGET', key, 'na') or 0) do
      local q = redis.call('HMGET', key, 'r:' .. j, 'g:' .. j, 'i:' .. j)
      if not q[1] and q[2] then
        table.insert(questions, q[3])
        table.insert(questions, q[2])
      end
    end
  end
  return page(kept, true, s.batch > 0 and 2 or 1, questions)
end
local entries, bytes = {}, 0
from = '(' .. int(from) .. '-0'
repeat
  local want = math.min(most - #entries, 32)
  local got = redis.call('XRANGE', log, from, '+', 'COUNT', want)
  for _, e in ipairs(got) do
    local size = #e[2][#e[2]]
    if #entries > 0 and bytes + size > tonumber(ARGV[A + 5]) then return page(entries, false) end
    table.insert(entries, e)
    bytes, from = bytes + size, '(' .. e[1]
  end
until #got < want or #entries >= most
return page(entries, #redis.call('XRANGE', log, from, '+', 'COUNT', 1) == 0)
