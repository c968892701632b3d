-- Redis's time; now is in ms. This file precedes all scripts that need it.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function int(n) return string.format('%.0f', n) end
