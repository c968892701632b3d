-- Takes calls from a budget or returns them, by the generic cell rate algorithm. KEYS[1]: the time
-- at which the budget is full again, in microseconds. ARGV: the interval between two calls in
-- microseconds, the maximum of calls at once, and the number of calls to take or, if negative, to
-- return. Returns the number of granted calls and, if it is 0, the microseconds until one is
-- available.
local micros = clock[1] * 1000000 + clock[2]
local interval, burst, want = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept, empty = tonumber(redis.call('GET', KEYS[1]) or micros), micros + interval * burst
-- The use of a previous budget under this key counts for at most the whole of this one.
local full = math.min(empty, math.max(micros, kept))
local granted, wait = want, 0
if want > 0 then
  granted = math.max(0, math.min(want, math.floor((empty - full) / interval)))
  if granted == 0 then
    wait = full + interval - empty
    if kept == full then return { 0, int(wait) } end
  end
end
full = full + granted * interval
if full <= micros then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], int(full), 'PX', int(math.ceil((full - micros) / 1000)))
end
return { granted, int(wait) }
