-- Replaces the stored state of a call by the result of Restore, if it is still as known.lua
-- returned it. KEYS[2]: the index of unfinished streams, if it is on this server. ARGV: stream,
-- call, the expected state as "epoch n held owner restore" or "" for none, the name of this
-- restore, request id, trace, deadline in ms or 0, the bytes that the call counts and those of its
-- state and answers, phase, how many calls share the stream or 0, what to do with the log:
-- "replace", "append" or "leave"; its entries, as chunks with the numbers of their last entries or
-- in the form of addall, the epoch and number of its last entry, or for a batch the next random
-- bits and nothing, the last entry of the call in the log of a batch, as epoch and number, the
-- stream's entry in the index, life of that in ms, the number of asks, their ids, and the fields of
-- the call.
local stream, call, expected, name = ARGV[A + 1], ARGV[A + 2], ARGV[A + 3], ARGV[A + 4]
local deadline, done, batch, what = tonumber(ARGV[A + 7]), ARGV[A + 10] == DONE, tonumber(ARGV[A + 11]), ARGV[A + 12]
local asks = tonumber(ARGV[A + 20])
local key = K .. ':c:' .. call

-- Replaces the log.
local function replace(s)
  local e = ARGV[A + 13] ~= '' and cmsgpack.unpack(ARGV[A + 13]) or {}
  redis.call('DEL', K .. ':l:' .. stream)
  total = total - s.len
  s.cnt, s.had, s.len, s.soft, s.floor, s.segments = 0, 0, 0, 0, 0, {}
  for i = 1, #e, 6 do
    s.seq = tonumber(e[i + 4]) - e[i + 2]
    under(s, tonumber(e[i + 5]))
    if e[i] == 's' then
      grow(s, e[i + 2], e[i + 3])
      s.soft = s.soft + e[i + 2]
      redis.call('XADD', K .. ':l:' .. stream, int(s.seq) .. '-0', 's', e[i + 1])
    else
      add(s, e[i], e[i + 1])
    end
  end
  s.ep, s.seq = tonumber(ARGV[A + 14]), tonumber(ARGV[A + 15])
end

return run(function()
  local was = redis.call('HMGET', key, 'ep', 'n', 'hd', 'ow', 'rv', 'ph', 'len', 'kept', 'na')
  local known = was[1] and redis.call('HEXISTS', K .. ':m', 'c:' .. call) == 1
  if (known and table.concat({ was[1], was[2], was[3], was[4], was[5] or '' }, ' ') or '') ~= expected then return { 'changed' } end
  local calls = standing(stream)
  local s = calls and loadstream(stream)
  if known and not s then return { 'changed' } end
  local more = #ARGV[A + 13] - (what == 'replace' and s and s.len or 0) + tonumber(ARGV[A + 8]) + tonumber(ARGV[A + 9])
  local short = afford(sess.account, 0, tonumber(sess.idx), total + math.max(more, 0))
  if short then return short end
  if not s then
    calls = {}
    redis.call('DEL', unpack(streamkeys(stream)))
    sess.open = sess.open + 1
    s = { name = stream, ep = 0, seq = 0, cnt = 0, had = 0, len = 0, soft = 0, unf = math.max(batch, 1), floor = 0, dropped = 0, added = 0,
      batch = batch, segments = {} }
  end
  if known and was[6] ~= DONE then
    total = total - tonumber(was[7]) - tonumber(was[8])
    sess.run = math.max(sess.run - 1, 0)
  end
  if known then forget(call, tonumber(was[9] or 0)) end
  redis.call('DEL', key)
  redis.call('HSET', key, 'v', LAYOUT, 'rv', name, unpack(ARGV, A + 21 + asks))
  if redis.call('HGET', key, 'cl') == '' then redis.call('HSET', key, 'cl', int(now)) end
  if not known then
    table.insert(calls, call)
    table.insert(calls, ARGV[A + 5])
    redis.call('HSET', K .. ':m', 's:' .. stream, cmsgpack.pack(calls), 'c:' .. call, stream)
    local other = redis.call('HGET', K .. ':m', 'r:' .. ARGV[A + 5])
    if not other or redis.call('HGET', K .. ':c:' .. other, 'ph') == DONE then redis.call('HSET', K .. ':m', 'r:' .. ARGV[A + 5], call) end
  end
  for i = 1, asks do
    local where = redis.call('HGET', K .. ':m', 'q:' .. ARGV[A + 20 + i])
    if not where or waits(i .. ' ' .. call) then redis.call('HSET', K .. ':m', 'q:' .. ARGV[A + 20 + i], i .. ' ' .. call) end
  end
  if what == 'replace' then
    replace(s)
  elseif batch > 0 and what == 'append' then
    s.ep = following(math.max(s.ep, tonumber(redis.call('HGET', key, 'ep'))), ARGV[A + 14])
    if ARGV[A + 13] ~= '' then
      under(s, s.ep)
      addall(s, '', ARGV[A + 13])
      redis.call('HSET', key, 'he', ARGV[A + 16], 'hs', ARGV[A + 17])
    end
  end
  bound(s)
  spare(s)
  local last = deadline > 0 and deadline or now + endless
  if done then
    if was[6] ~= DONE or not known then s.unf = s.unf - 1 end
    if sess.run == 0 then sess.dl = 0 end
  else
    total = total + tonumber(ARGV[A + 8]) + tonumber(ARGV[A + 9])
    sess.run, sess.dl = sess.run + 1, math.max(sess.dl, last)
  end
  savelog(s, 'bt', s.batch)
  if #calls == 2 then redis.call('HSET', K .. ':t:' .. stream, 'tr', ARGV[A + 6]) end
  keepmap()
  sess.any = sess.any or true
  local ended = redis.call('ZSCORE', K .. ':e', stream)
  if s.unf > 0 then
    if KEYS[2] then
      redis.call('ZADD', KEYS[2], now, ARGV[A + 18])
      redis.call('PEXPIRE', KEYS[2], ARGV[A + 19])
    end
    keepstream(stream, call)
  elseif ended then
    local till = int(math.max(tonumber(ended) + logttl, sess.kp) + 1)
    redis.call('HSET', K .. ':m', 'z:' .. stream, int(s.len))
    for _, k in ipairs({ key, K .. ':t:' .. stream, K .. ':l:' .. stream }) do redis.call('PEXPIREAT', k, till) end
  else
    finish(s, calls, KEYS[2], ARGV[A + 18])
  end
  wake(stream)
  return { 'ok', s.dropped, s.unf == 0 and 1 or 0 }
end)
