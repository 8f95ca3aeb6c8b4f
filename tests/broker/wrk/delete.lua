-- Deletes the entities fixture-1 .. fixture-N, each once; every thread has its own part of them and stops when that is
-- gone, so a run is shorter than asked for when the pool is small. Arguments: N (default 1000), threads (default 1).
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

function init(args)
  pool = tonumber(args[1]) or 1000
  step = tonumber(args[2]) or 1
  at = thread_number
end

function request()
  if at > pool then
    wrk.thread:stop()
    return wrk.format("GET", "/version")
  end
  local path = "/entities/fixture-" .. at
  at = at + step
  return wrk.format("DELETE", path)
end
