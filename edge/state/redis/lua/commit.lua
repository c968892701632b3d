-- Creates records, and stores a step of a call. KEYS[2]: the index of unfinished streams, if it is
-- on this server. ARGV: stream, call or "", epoch, n, after, the place of the first entry, the
-- number of entries, the entries in the form of addall, next, the round that begins or 0, state,
-- the stream's entry in the index, life of that in ms, the number of calls that begin, the number
-- of asks, '1' if the round may be repeated, the bytes of the entries that may not be dropped,
-- without questions, the summary of the log or "", the bytes of droppable entries; for each call
-- that begins: id, request id, record, deadline in ms or 0, round, attempt, the bytes that it
-- counts, epoch, trace, state, '1' if the round may be repeated; for each ask: id, key, elicitation id, message, record.
-- Returns the number of dropped entries, 1 if the stream has ended, the epoch and number of the
-- log's last entry, the number of added entries, and 1 if the stream has begun.
local stream, call, epoch, n, after = ARGV[A + 1], ARGV[A + 2], tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4]), tonumber(ARGV[A + 5])
local place, count, entries, next = tonumber(ARGV[A + 6]), tonumber(ARGV[A + 7]), ARGV[A + 8], ARGV[A + 9]
local round, state, begins, asks, resumable = tonumber(ARGV[A + 10]), ARGV[A + 11], tonumber(ARGV[A + 14]), tonumber(ARGV[A + 15]), ARGV[A + 16]
local CALLS, PREPARES, ASKS, ENDS = '1', '2', '3', '4'
local pinned, brief, soft = tonumber(ARGV[A + 17]), ARGV[A + 18], tonumber(ARGV[A + 19])
local function new(i, j) return ARGV[A + 19 + (i - 1) * 11 + j] end
local function ask(i, j) return ARGV[A + 19 + begins * 11 + (i - 1) * 5 + j] end

-- Returns why an existing stream was not begun by an earlier attempt of this script, or nil if it
-- was.
local function begun(calls)
  if #calls ~= 2 * begins then return { 'exists', 'stream' } end
  for i = 1, begins do
    local c = redis.call('HMGET', K .. ':c:' .. calls[2 * i - 1], 'ow', 'hd', 'ep', 'n')
    if calls[2 * i - 1] ~= new(i, 1) or c[1] ~= me or c[3] ~= new(i, 8) or call == '' and (c[2] ~= '1' or c[4] ~= '0') then
      return { 'exists', 'stream' }
    end
  end
  return nil
end

-- Reports whether a log has entries at the step's place or after it.
local function reaches(s)
  local last = redis.call('XREVRANGE', K .. ':l:' .. stream, '+', '-', 'COUNT', 1)[1]
  return last and tonumber(string.match(last[1], '^%d+')) >= place
end

-- Returns the reason for which the step is refused, or that it is already stored. nil means that it
-- can be stored.
local function fence(c, s)
  if epoch > c.ep then return { 'rewound', int(c.ep), int(c.n) } end
  if epoch < c.ep then return { 'fenced', 'epoch ' .. int(epoch) .. " is not the call's, which is " .. int(c.ep) } end
  if c.owner ~= me then return { 'fenced', 'the lease is of ' .. c.owner } end
  if n <= c.n then return { 'ok', 0, redis.call('ZSCORE', K .. ':e', stream) and 1 or 0, '0', '0', 0, 0 } end
  if not c.held or c.phase == DONE then return { 'fenced', 'the lease has ended' } end
  if after > c.n or s.batch == 0 and count > 0 and place <= s.seq and reaches(s) then return { 'rewound', int(c.ep), int(c.n) } end
  return nil
end

-- Returns the call and its stream, or else the result of the script.
local function load()
  local c = redis.call('HMGET', K .. ':c:' .. call, 'st', 'ep', 'n', 'hd', 'ph', 'ow', 'dl', 'len', 'kept', 'na', 'pr', 'sp', 'la', 'v', 'br')
  if c[14] and c[14] ~= LAYOUT then return { 'layout', c[14] } end
  local s = c[1] == stream and redis.call('HEXISTS', K .. ':m', 'c:' .. call) == 1 and loadstream(stream)
  if not s or s.unf == 0 and lapsed(stream) then return { 'rewound', '0', '0' } end
  return nil, s, { ep = tonumber(c[2]), n = tonumber(c[3]), held = c[4] == '1', phase = c[5], owner = c[6], deadline = c[7],
    len = tonumber(c[8] or 0), kept = tonumber(c[9] or 0), asks = tonumber(c[10] or 0), progress = c[11], start = c[12], last = c[13] }
end

-- Returns why a question cannot be asked, or nil.
local function taken()
  local seen = {}
  for i = 1, asks do
    local where, id = redis.call('HGET', K .. ':m', 'q:' .. ask(i, 1)), ask(i, 1)
    local waiting, other = false, nil
    if where then waiting, other = waits(where) end
    if seen[id] or waiting and other ~= call then return { 'exists', 'request ' .. id .. ' to the client' } end
    seen[id] = true
  end
  return nil
end

-- Sends the request ids of the calls that begin to the other holders of the session.
local function announce()
  for _, holder in ipairs(redis.call('ZRANGE', K .. ':h', 0, -1)) do
    if holder ~= me then
      for i = 1, begins do redis.call('PUBLISH', inbox .. holder, 'd' .. #K .. ':' .. K .. new(i, 2)) end
    end
  end
end

-- Creates the records, and their stream unless the step ends it.
local function begin(s, ends)
  local calls, keys, map = {}, streamkeys(stream), { 's:' .. stream, '' }
  for i = 1, begins do
    table.insert(calls, new(i, 1))
    table.insert(calls, new(i, 2))
    table.insert(keys, K .. ':c:' .. new(i, 1))
    for _, v in ipairs({ 'c:' .. new(i, 1), stream, 'r:' .. new(i, 2), new(i, 1) }) do table.insert(map, v) end
  end
  map[2] = cmsgpack.pack(calls)
  redis.call('HSET', K .. ':m', unpack(map))
  -- An expired session with the same id may have left some.
  redis.call('DEL', unpack(keys))
  sess.open, sess.any, s.calls, s.ends = sess.open + 1, sess.any or true, calls, ends
  if ends then return end
  if sess.open == 1 then keepmap() end
  if KEYS[2] then
    redis.call('ZADD', KEYS[2], int(now), ARGV[A + 12])
    redis.call('PEXPIRE', KEYS[2], ARGV[A + 13])
  end
  local longest = 0
  for i = 1, begins do
    local id, deadline = new(i, 1), tonumber(new(i, 4))
    local till = deadline > 0 and deadline or now + endless
    redis.call('HSET', K .. ':c:' .. id, 'v', LAYOUT, 'st', stream, 'bt', s.batch, 'b', new(i, 3), 'dl', new(i, 4), 'rd', new(i, 5),
      'at', new(i, 6), 'lp', 0, 'len', new(i, 7), 'kept', #new(i, 10), 'ph', DISPATCHED, 'ow', me, 'hd', 1, 'ep', new(i, 8), 'n', 0, 'sp', 0, 'la', 0)
    if new(i, 10) ~= '' or new(i, 11) == '1' then redis.call('HSET', K .. ':c:' .. id, 'sv', new(i, 10), 'rs', new(i, 11)) end
    redis.call('PEXPIREAT', K .. ':c:' .. id, int(math.max(till, now) + ttl))
    longest = math.max(longest, till)
  end
  sess.run, sess.dl, s.till = sess.run + begins, math.max(sess.dl, longest), math.max(longest, now) + ttl
  -- The client that waits for the calls follows their stream on this replica.
  redis.call('ZADD', K .. ':f', int(now + math.max(lease, renewal)), me .. ' 0 ' .. stream)
  redis.call('PEXPIREAT', K .. ':f', int(math.max(sess.aux, now + math.max(lease, renewal))))
  announce()
end

-- Updates the record of a call by the step, except for its end.
local function apply(c, highest)
  local key = K .. ':c:' .. call
  local fields = { 'n', int(n) }
  local function set(field, value)
    table.insert(fields, field)
    table.insert(fields, value)
  end
  if count > 0 then set('la', int(place + count - 1)) end
  if highest then set('pr', highest) end
  if brief ~= '' then set('br', brief) end
  if round > 0 then
    forget(call, c.asks)
    for _, v in ipairs({ 'rd', int(round), 'at', 1, 'lp', 0, 'na', 0, 'miss', 0, 'sv', state, 'kept', #state, 'rs', resumable }) do table.insert(fields, v) end
  end
  if next == PREPARES then set('ph', READY) elseif next == CALLS then set('ph', DISPATCHED) end
  if next == ASKS then
    if round == 0 then forget(call, c.asks) end
    closeall(call)
    for _, v in ipairs({ 'ph', WAITING, 'hd', 0, 'na', asks, 'miss', asks, 'sv', state, 'kept', #state, 'rs', resumable }) do table.insert(fields, v) end
    for i = 1, asks do
      redis.call('HSET', key, 'i:' .. i, ask(i, 1), 'g:' .. i, ask(i, 4), 'a:' .. i, ask(i, 5))
      redis.call('HSET', K .. ':m', 'q:' .. ask(i, 1), i .. ' ' .. call)
      if ask(i, 3) ~= '' then redis.call('HSET', key, 'o:' .. ask(i, 2), ask(i, 3)) end
    end
  end
  redis.call('HSET', key, unpack(fields))
end

-- Removes from a finished call all fields that do not fence late writers and that Restore does not
-- need.
local function finished(s, c)
  local key = K .. ':c:' .. call
  if not s.ends then
    forget(call, c.asks)
    if brief == '' then brief = redis.call('HGET', key, 'br') or '' end
    redis.call('DEL', key)
  end
  redis.call('HSET', key, 'v', LAYOUT, 'st', stream, 'bt', s.batch, 'dl', c.deadline, 'ep', int(epoch), 'n', int(n), 'hd', 0, 'ow', me, 'ph', DONE,
    'sp', c.start, 'la', count > 0 and int(place + count - 1) or c.last, 'br', brief)
end

return run(function()
  local s, c, more, messages, ends = nil, nil, 0, 0, false
  local there = begins > 0 and standing(stream)
  if there then
    local refused = begun(there)
    if refused or call == '' then return refused or { 'ok', 0, 0, '0', '0', 0, 0 } end
  end
  local fresh = begins > 0 and not there
  if fresh then
    ends = begins == 1 and call ~= '' and next == ENDS
    if sess.open >= maxstreams and not ends then return { 'limit', int(sess.open) .. ' unfinished streams' } end
    s = { name = stream, ep = tonumber(new(1, 8)), seq = 0, cnt = 0, had = 0, len = 0, soft = 0, unf = begins, floor = 0, dropped = 0, added = 0,
      batch = begins > 1 and begins or 0, segments = {} }
    for i = 1, begins do
      if redis.call('HEXISTS', K .. ':m', 'c:' .. new(i, 1)) == 1 then return { 'exists', 'call ' .. new(i, 1) } end
      more = more + tonumber(new(i, 7)) + #new(i, 10)
      if new(i, 1) == call then
        c = { ep = tonumber(new(i, 8)), n = 0, held = true, phase = DISPATCHED, owner = me, deadline = new(i, 4), len = tonumber(new(i, 7)),
          kept = #new(i, 10), asks = 0, start = '0', last = '0' }
      end
    end
  end
  if call ~= '' then
    local refused
    if not c then
      if fresh then return { 'rewound', '0', '0' } end
      refused, s, c = load()
    end
    refused = refused or fence(c, s) or taken()
    if refused then return refused end
    for i = 1, asks do messages = messages + #ask(i, 4) end
    local kept = (next == ASKS or round > 0) and #state or c.kept
    more = more + (next == ENDS and 0 or c.len + kept) - c.len - c.kept + messages
  end
  if more > 0 and not (fresh and room(more) or not fresh and makeroom(s, more)) then return noroom(more) end
  -- The edge's own messages always fit, so that every call can end.
  local growth = more + pinned
  local must = growth > 0 and (fresh or next == ASKS or growth > 4096) and total + growth or 0
  -- A stream without droppable entries is counted afterwards.
  if must > 0 or count > 0 and growth + soft > 0 and s.soft + soft > 0 then
    local refused = afford(sess.account, must, tonumber(sess.idx), total + growth + soft - must)
    if refused then return refused end
  end
  total = total + more - messages
  if fresh then begin(s, ends) end
  if call ~= '' then
    local highest
    if count > 0 then
      if s.batch == 0 then s.seq, s.placed = place - 1, true end
      under(s, s.batch == 0 and epoch or s.ep)
      highest = addall(s, call, entries, c.progress)
      bound(s)
      spare(s)
    end
    if next == ENDS then
      finished(s, c)
      s.unf = s.unf - 1
      if not ends then
        sess.run = math.max(sess.run - 1, 0)
        if sess.run == 0 then sess.dl = 0 end
      end
    else
      apply(c, highest)
    end
    if s.batch > 0 and count > 0 then redis.call('HSET', K .. ':c:' .. call, 'he', int(epoch), 'hs', int(place + count - 1)) end
  end
  if fresh then
    savelog(s, 'bt', s.batch, 'tr', new(1, 9))
    if s.till then redis.call('PEXPIREAT', K .. ':t:' .. stream, int(s.till)) end
  elseif count > 0 or next == ENDS then
    savelog(s)
  end
  if s.unf == 0 then
    finish(s, s.calls or callsof(stream), not ends and KEYS[2], ARGV[A + 12])
  else
    keeplog(s)
    if call ~= '' and not fresh and (next == ENDS or next == ASKS or now > tonumber(c.deadline)) then keepstream(stream, call) end
  end
  if count > 0 or next == ENDS then wake(stream) end
  -- The follower registered with the beginning has its stream on this replica, and reads the end.
  if s.unf == 0 and not ends then redis.call('ZREM', K .. ':f', me .. ' 0 ' .. stream) end
  return { 'ok', s.dropped, s.unf == 0 and 1 or 0, int(s.ep), int(s.seq), s.added, fresh and 1 or 0 }
end)
