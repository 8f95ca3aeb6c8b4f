-- Updates one attribute of the fixture's entities, 20 in a request.
local POOL = 10000

function init(args)
  at = 0
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  local parts = {}
  for i = 1, 20 do
    at = at % POOL + 1
    parts[i] = '{"id":"urn:ngsi-ld:Room:' .. at .. '","type":"Room","attribute01":{"type":"Property","value":' .. at .. "}}"
  end
  return wrk.format("POST", "/ngsi-ld/v1/entityOperations/update", headers, "[" .. table.concat(parts, ",") .. "]")
end
