-- Replaces the record if it was not changed since it was read, and changes the subscriptions, which have
-- a key of their own. ARGV: old serial, new serial, new record, bytes of it with its subscriptions, the
-- subscription that begins or "", the forms in which the one that ends may be stored, if any. Returns the current record if it was changed.
return run(function()
  if redis.call('HGET', K, 'ser') ~= ARGV[A + 1] then return { 'conflict', record() } end
  local subs = sess.subs
  local more = tonumber(ARGV[A + 4]) - sess.len
  if more > 0 and not room(more) then return noroom(more) end
  local refused = more > 0 and afford(sess.account, total + more, tonumber(sess.idx))
  if refused then return refused end
  if ARGV[A + 6] then sess.subs = sess.subs - redis.call('ZREM', K .. ':s', unpack(ARGV, A + 6)) end
  if ARGV[A + 5] ~= '' then
    local last = redis.call('ZREVRANGE', K .. ':s', 0, 0, 'WITHSCORES')
    sess.subs = sess.subs + redis.call('ZADD', K .. ':s', 'NX', int(tonumber(last[2] or 0) + 1), ARGV[A + 5])
  end
  total, sess.len = total + more, sess.len + more
  redis.call('HSET', K, 'ser', ARGV[A + 2], 'rec', ARGV[A + 3], 'rb', int(sess.len))
  if sess.subs ~= subs then redis.call('HSET', K, 'subs', sess.subs) end
  return { 'ok' }
end)
