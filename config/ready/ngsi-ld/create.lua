-- Creates entities of about 1 KB whose ids are new in every thread, connection and run.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

function init(args)
  local ffi = require("ffi")
  ffi.cdef("int getpid(void);")
  prefix = string.format("urn:ngsi-ld:New:%d-%d-%d-", os.time(), ffi.C.getpid(), thread_number)
  made = 0
  local attributes = {}
  for i = 1, 10 do
    attributes[i] = string.format('"attribute%02d":{"type":"Property","value":%d.25,"observedAt":"2026-03-02T09:%02d:00Z"}', i, i * 7, i)
  end
  body_end = '","type":"New",' .. table.concat(attributes, ",") .. "}"
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  made = made + 1
  return wrk.format("POST", "/ngsi-ld/v1/entities", headers, '{"id":"' .. prefix .. made .. body_end)
end
