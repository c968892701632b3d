-- Lends bytes to a session that is on another server. KEYS[1]: the account. ARGV: the session, the
-- maximum and the minimum of bytes to lend, the bound, the duration in ms, '1' to exceed the bound,
-- and the number of bytes below which sessions that may have ended are returned, or "". It never
-- reduces a loan. Returns the lent bytes, or -1, then the bytes of other sessions, and some
-- sessions that may have ended.
if tonumber(ARGV[2]) == 0 then
  giveback(KEYS[1], ARGV[1])
  return { '0', '0', {} }
end
local got, others = borrow(KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), now, now + tonumber(ARGV[5]), ARGV[6] == '1')
if got and got >= tonumber(ARGV[7] or 0) then return { int(got), '0', {} } end
return { int(got or -1), int(others or 0), ending(KEYS[1]) }
