-- Creates entities in batches of 20; ids are new in every thread, connection and run.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

function init(args)
  local ffi = require("ffi")
  ffi.cdef("int getpid(void);")
  prefix = string.format('{"id":"urn:ngsi-ld:New:%d-%d-%d-', os.time(), ffi.C.getpid(), thread_number)
  made = 0
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  local parts = {}
  for i = 1, 20 do
    made = made + 1
    parts[i] = prefix .. made .. '","type":"New","temperature":{"type":"Property","value":21.5}}'
  end
  return wrk.format("POST", "/ngsi-ld/v1/entityOperations/create", headers, "[" .. table.concat(parts, ",") .. "]")
end
