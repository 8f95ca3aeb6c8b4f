-- Creates entities in batches; ids are new in every thread, connection and run.
-- Optional argument: entities in a batch (default 20).
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

function init(args)
  local ffi = require("ffi")
  ffi.cdef("int getpid(void);")
  prefix = string.format('{"id":"urn:batch:%d-%d-%d-', os.time(), ffi.C.getpid(), thread_number)
  size = tonumber(args[1]) or 20
  made = 0
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  local parts = {}
  for i = 1, size do
    made = made + 1
    parts[i] = prefix .. made .. '","type":"Room","temperature":{"type":"Number","value":21.5},"name":"room ' .. made .. '"}'
  end
  return wrk.format("POST", "/batch", headers, "[" .. table.concat(parts, ",") .. "]")
end
