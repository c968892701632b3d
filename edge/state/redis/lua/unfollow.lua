-- Removes a registration of follow.lua, and counts a use of the session. ARGV: member.
return run(function()
  redis.call('ZREM', K .. ':f', ARGV[A + 1])
  return { 'ok' }
end, false)
