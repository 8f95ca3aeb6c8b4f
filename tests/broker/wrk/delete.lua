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
  trial = thread_number == 1  -- wrk asks the first thread once for a request that it does not send
end

function request()
  if at > pool then
    wrk.thread:stop()
    return wrk.format("GET", "/version")
  end
  local path = "/entities/fixture-" .. at
  if trial then trial = false else at = at + step end
  return wrk.format("DELETE", path)
end
