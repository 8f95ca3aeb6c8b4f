-- Changes one attribute of the entities fixture-1 .. fixture-N in turn. Optional argument: N (default 1000).
function init(args)
  pool = tonumber(args[1]) or 1000
  at = 0
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  at = at + 1
  return wrk.format("PATCH", "/entities/fixture-" .. (at % pool + 1), headers,
                    '{"attribute01":{"type":"Number","value":' .. at .. "}}")
end
