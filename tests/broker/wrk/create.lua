-- Creates entities of about 4.7 KB whose ids are new in every thread, connection and run.
-- Optional argument: the number of attributes (default 30).
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

function init(args)
  local ffi = require("ffi")
  ffi.cdef("int getpid(void);")
  prefix = string.format("urn:entity:%d-%d-%d-", os.time(), ffi.C.getpid(), thread_number)
  made = 0
  local attributes = {}
  for i = 1, tonumber(args[1]) or 30 do
    attributes[i] = string.format(
      '"attribute%02d": {"type": "Number", "value": %d.25, "observedAt": "2026-03-02T09:%02d:00Z", "unit": "CEL", ' ..
      '"source": {"type": "Relationship", "object": "urn:device:%04d"}}', i, i * 7, i, i)
  end
  body_end = '","type":"Room",' .. table.concat(attributes, ", ") .. "}"
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  made = made + 1
  return wrk.format("POST", "/entities", headers, '{"id":"' .. prefix .. made .. body_end)
end
