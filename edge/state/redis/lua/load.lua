-- Reads a session. Returns what record does.
return run(function() return { 'ok', record() } end)
