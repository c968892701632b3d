-- Common code of the session scripts; it precedes each of them.
--
-- KEYS[1] is the session's record. The other keys of the session are its name and a suffix: they have
-- the same hash tag, hence the same slot.
--   :h holders, replica -> last use        :f followers, "replica number stream" -> until
--   :s subscriptions, uri -> place in the order
--   :m what is where (see steps.lua)      :e finished streams -> when they ended
--   :t:<stream> the stream's counters     :l:<stream> its log, a Redis stream of ids <seq>-0
--   :c:<call> the call's record           :x the holders of an erased session
local K = KEYS[1]
local me, ttl, logttl, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local maxevents, maxbytes, inbox = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local maxtotal, maxstreams, claimlife = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
-- The longest time between two uses that a replica counts. A session lives longer by that time.
local renewal = tonumber(ARGV[11])
-- '1' if this replica counted a use of the session less than renewal ago: it is then among the
-- holders.
local counted = ARGV[12] == '1'
-- The bound of what all sessions of a caller keep, in bytes; '1' if its account may be on another
-- server; in that case the bytes that the account has lent, or '', and '1' if it has no more.
local maxowned, apart, lent, utmost = tonumber(ARGV[13]), ARGV[14] == '1', tonumber(ARGV[15]), ARGV[16] == '1'
-- The index of the last common argument. A script's own arguments follow.
local A = 16

-- The bytes that the session keeps: its record, its unfinished calls, and its logs; see run.
local total = 0

-- The life in ms of a call without a deadline after its last write, and of a holder after its last
-- use.
local endless, holding = 30 * 24 * 3600 * 1000, 600 * 1000

-- The phases of a call.
local READY, DISPATCHED, WAITING, DONE = '1', '2', '3', '4'

local function streamkeys(stream)
  return { K .. ':t:' .. stream, K .. ':l:' .. stream }
end

-- Returns the calls of a stream, as call, request id, call, request id ...; nil if the stream does
-- not exist.
local function callsof(stream)
  local packed = redis.call('HGET', K .. ':m', 's:' .. stream)
  return packed and cmsgpack.unpack(packed)
end

-- Deletes a finished stream and its calls. Its keys may have expired, so the map has its size, too.
local function dropstream(stream)
  local m = redis.call('HMGET', K .. ':m', 's:' .. stream, 'z:' .. stream)
  local calls, keys, fields, requests = m[1] and cmsgpack.unpack(m[1]) or {}, streamkeys(stream), { 's:' .. stream, 'z:' .. stream }, {}
  for i = 1, #calls, 2 do
    table.insert(keys, K .. ':c:' .. calls[i])
    table.insert(fields, 'c:' .. calls[i])
    table.insert(requests, 'r:' .. calls[i + 1])
  end
  if #requests > 0 then
    for i, call in ipairs(redis.call('HMGET', K .. ':m', unpack(requests))) do
      if call == calls[2 * i - 1] then table.insert(fields, requests[i]) end
    end
  end
  redis.call('DEL', unpack(keys))
  redis.call('HDEL', K .. ':m', unpack(fields))
  redis.call('ZREM', K .. ':e', stream)
  total = total - tonumber(m[2] or 0)
end

-- Reports whether a finished stream can no longer be replayed.
local function lapsed(stream)
  local ended = redis.call('ZSCORE', K .. ':e', stream)
  return ended and now - tonumber(ended) > logttl and now > tonumber(redis.call('HGET', K, 'kp') or 0)
end

-- Deletes finished streams, the oldest first, until more bytes fit into the session. Returns false
-- if they do not fit.
local function room(more)
  while total + more > maxtotal do
    local oldest = redis.call('ZRANGE', K .. ':e', 0, 0)[1]
    if not oldest then return false end
    dropstream(oldest)
  end
  return true
end

-- Returns the result for bytes that do not fit.
local function noroom(more) return { 'room', int(total), int(more) } end

-- Returns the bytes to borrow for a need, with a reserve: the account is contacted again if the
-- reserve is used up or too large.
local function ample(bytes) return math.floor(bytes + math.max(1024, bytes / 8)) end

-- The session's counters while a script runs: unfinished calls and the last of their deadlines,
-- unfinished streams, the expiry of the other keys, and the bytes of the record. "any" is set once
-- the session has had a stream, "account" is the caller's, "lent" what that has lent to the session
-- (see account.lua), "idx" the expiry of its entries in indexes, "subs" the number of
-- subscriptions, "kp" the earliest expiry.
local sess

-- Borrows so that the session may keep so many bytes. Returns why the caller may not, or nil; 0
-- bytes are never refused. More may be lent. soft are further bytes, which are kept as far as
-- sess.lent suffices.
local function afford(account, bytes, till, soft)
  local want = bytes + (soft or 0)
  if account == '' or want <= sess.lent then return nil end
  if apart then
    if lent and (lent >= want or utmost and lent >= bytes) then
      sess.lent = lent
      return nil
    end
    return { 'short', account, int(ample(want)), int(bytes), int(math.max(till - now, 1)), int(want) }
  end
  local got, others = borrow(account, K, ample(want), bytes, maxowned, now, till)
  if not got or got < want then
    local freed = false
    for _, session in ipairs(ending(account)) do
      if session ~= K and redis.call('EXISTS', session) == 0 then
        giveback(account, session)
        freed = true
      end
    end
    if freed then got, others = borrow(account, K, ample(want), bytes, maxowned, now, till) end
  end
  if not got and bytes > 0 then return { 'owned', int(others + total), int(bytes - total) } end
  sess.lent = got or 0
  return nil
end

-- Returns the record, its serial and its subscriptions.
local function record()
  local r = redis.call('HMGET', K, 'rec', 'ser')
  return { r[1], r[2], redis.call('ZRANGE', K .. ':s', 0, -1) }
end

-- Counts a use of the session: registers the holder unless hold is false, and extends the expiry of
-- its keys, each at most once in renewal. Returns the index entry that is due for renewal, as
-- "until key", or "", followed, if the account may be on another server, by "bytes life account"
-- for its settlement.
local function keep(hold, own, idx)
  local till = math.max(now + ttl + renewal, sess.kp)
  if sess.run > 0 then till = math.max(till, sess.dl + ttl) end
  if not counted then
    if hold ~= false and redis.call('ZADD', K .. ':h', now, me) == 1 then
      redis.call('ZREMRANGEBYSCORE', K .. ':h', '-inf', '(' .. int(now - holding))
    end
    if sess.any then redis.call('ZREMRANGEBYSCORE', K .. ':f', '-inf', int(now)) end
  elseif sess.lasts and now + renewal <= sess.dl then
    -- The index entry expires with the last of the calls.
    sess.idx = idx
    return ''
  end
  if lease > ttl + renewal then
    local f = redis.call('ZREVRANGE', K .. ':f', 0, 0, 'WITHSCORES')
    if f[2] then till = math.max(till, tonumber(f[2])) end
  end
  redis.call('PEXPIREAT', K, int(till))
  if not counted or till > sess.aux then
    sess.aux = till + renewal
    redis.call('PEXPIREAT', K .. ':h', int(sess.aux))
    if sess.subs > 0 then redis.call('PEXPIREAT', K .. ':s', int(sess.aux)) end
    if sess.any then
      redis.call('PEXPIREAT', K .. ':m', int(sess.aux))
      redis.call('PEXPIREAT', K .. ':e', int(sess.aux))
    end
  end
  local due = till > tonumber(idx) - ttl / 4
  if due then
    idx = int(till + ttl / 2)
    redis.call('HSET', K, 'idx', idx)
  end
  sess.idx = idx
  return due and idx .. ' ' .. own or ''
end

-- Sets the loan in the account if the session keeps more than was lent or much less, or if its
-- entry there is due for renewal. Returns the settlement if the caller of the script must do it, or
-- nothing.
local function settle(due)
  if sess.account == '' then return due end
  local lending = sess.lent
  if total > lending or lending > 2 * ample(total) + 32768 then lending = ample(total) end
  if lending == sess.lent and due == '' then return due end
  sess.lent = lending
  if apart then
    return (due == '' and '0 -' or due) .. ' ' .. int(lending) .. ' ' .. int(math.max(tonumber(sess.idx) - now, 1)) .. ' ' .. sess.account
  end
  borrow(sess.account, K, lending, lending, maxowned, now, tonumber(sess.idx), true)
  return due
end

-- Runs main on an existing session and counts a use. Returns main's result with the result of keep
-- as its second element.
local function run(main, hold)
  local s = redis.call('HMGET', K, 'own', 'idx', 'any', 'by', 'run', 'dl', 'open', 'aux', 'rb', 'subs', 'kp', 'acct', 'lent')
  if not s[1] then return { 'gone', '' } end
  sess = { any = s[3], run = tonumber(s[5] or 0), dl = tonumber(s[6] or 0), open = tonumber(s[7] or 0),
    aux = tonumber(s[8] or 0), len = tonumber(s[9] or 0), subs = tonumber(s[10] or 0), kp = tonumber(s[11] or 0),
    account = maxowned > 0 and s[12] or '', lent = tonumber(s[13] or 0), idx = s[2] }
  sess.lasts = sess.run > 0
  total = tonumber(s[4] or 0) + sess.len
  local before, calls, open, aux, any, lending = total, sess.run, sess.open, sess.aux, sess.any, sess.lent
  if sess.any and not counted and now > sess.kp then
    local old = redis.call('ZRANGEBYSCORE', K .. ':e', '-inf', '(' .. int(now - logttl), 'LIMIT', 0, 64)
    for _, stream in ipairs(old) do dropstream(stream) end
  end
  local r = main()
  sess.lasts = sess.lasts and sess.run == calls
  table.insert(r, 2, settle(keep(hold, s[1], s[2])))
  if sess.lent ~= lending then redis.call('HSET', K, 'lent', int(sess.lent)) end
  if sess.run ~= calls or sess.open ~= open or sess.any ~= any then
    redis.call('HSET', K, 'by', int(total - sess.len), 'run', sess.run, 'dl', int(sess.dl), 'open', sess.open, 'any', 1, 'aux', int(sess.aux))
  elseif sess.any and (total ~= before or sess.aux ~= aux) then
    redis.call('HSET', K, 'by', int(total - sess.len), 'aux', int(sess.aux))
  end
  return r
end
