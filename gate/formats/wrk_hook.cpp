// The Lua text that wrk runs. LuaJIT, Lua 5.1 language. wrk loads the file once in its main state (setup, done) and
// once in the state of each thread (init, request, response); only copies of plain values pass between them, by
// thread:get.
#include "gate/formats/wrk.hpp"

namespace nightgate::formats {
namespace {

constexpr std::string_view kHook = R"lua(
local options = nightgate_wrk
nightgate_fault = nil    -- read by done() through thread:get, hence global
nightgate_counted = false
nightgate_statuses = {}

if options.script then
  local chunk, why = loadfile(options.script)
  local fine = chunk ~= nil
  if chunk then fine, why = pcall(chunk) end
  if not fine then nightgate_fault = tostring(why) end
end

local threads = {}
local user_setup, user_init, user_done = setup, init, done
local counts = nightgate_statuses
local counting

local function wrap_response()
  local inner = response
  if inner == counting and inner ~= nil then return end
  if inner == nil and not options.count then return end
  nightgate_counted = true
  if inner == nil then
    counting = function(status) counts[status] = (counts[status] or 0) + 1 end
  else
    counting = function(status, headers, body)
      counts[status] = (counts[status] or 0) + 1
      return inner(status, headers, body)
    end
  end
  response = counting
end
wrap_response()

function setup(thread)
  threads[#threads + 1] = thread
  if user_setup then user_setup(thread) end
end

local ffi = require('ffi')
ffi.cdef('struct nightgate_timeval { long seconds; long micros; };')
ffi.cdef('int gettimeofday(struct nightgate_timeval *now, void *zone);')
local function now_us()
  local now = ffi.new('struct nightgate_timeval')
  ffi.C.gettimeofday(now, nil)
  return tonumber(now.seconds) * 1e6 + tonumber(now.micros)
end

-- A script may end a thread before the time is over (its pool is empty); wrk's own duration knows nothing of that.
local function note_stop()
  local real = wrk.thread
  wrk.thread = setmetatable({
    stop = function()
      nightgate_stopped_us = nightgate_stopped_us or now_us()
      real:stop()
    end,
    get = function(_, name) return real:get(name) end,
    set = function(_, name, value) real:set(name, value) end,
  }, { __index = function(_, name) return real[name] end, __newindex = function(_, name, value) real[name] = value end })
end

function init(args)
  note_stop()
  if user_init then user_init(args) end
  wrap_response()  -- a script may set response() as late as here
end

local function text(value)
  local plain = tostring(value):gsub('[%c"\\\128-\255]', function(c) return string.format('\\u%04x', c:byte()) end)
  return '"' .. plain .. '"'
end
local function number(value)
  if type(value) ~= 'number' or value ~= value or value < 0 or value > 9e15 then value = 0 end
  return string.format('%.3f', value)
end
local function whole(value) return (number(value):gsub('%..*', '')) end

local function expected(status)
  for _, range in ipairs(options.expect) do
    if status >= range[1] and status <= range[2] then return true end
  end
  return false
end

-- From the start to the last thread's own end, where every thread ended by itself; else the whole run.
local function used_us(summary)
  local last = 0
  for _, thread in ipairs(threads) do
    local stopped = thread:get('nightgate_stopped_us')
    if not stopped then return summary.duration end
    last = math.max(last, stopped)
  end
  local used = last - (now_us() - summary.duration)
  if #threads == 0 or used <= 0 or used > summary.duration then return summary.duration end
  return used
end

local function gather(summary)
  local all, counted, fault = {}, #threads > 0, nightgate_fault
  for _, thread in ipairs(threads) do
    counted = counted and thread:get('nightgate_counted')
    fault = fault or thread:get('nightgate_fault')
    for status, count in pairs(thread:get('nightgate_statuses')) do all[status] = (all[status] or 0) + count end
  end
  local unexpected, list = 0, {}
  for status, count in pairs(all) do
    list[#list + 1] = string.format('"%d":%s', status, whole(count))
    if not expected(status) then unexpected = unexpected + count end
  end
  if not counted then unexpected = summary.errors.status end
  return { counted = counted, fault = fault, statuses = table.concat(list, ','), unexpected = unexpected }
end

function done(summary, latency, requests)
  local duration = used_us(summary)
  local seen = gather(summary)
  local e = summary.errors
  local parts = {
    '"requests":' .. whole(summary.requests), '"duration_us":' .. whole(duration),
    '"bytes":' .. whole(summary.bytes),
    '"errors":{"connect":' .. whole(e.connect) .. ',"read":' .. whole(e.read) .. ',"write":' .. whole(e.write) ..
      ',"status":' .. whole(e.status) .. ',"timeout":' .. whole(e.timeout) .. '}',
    '"latency_us":{"p50":' .. whole(latency:percentile(50)) .. ',"p75":' .. whole(latency:percentile(75)) ..
      ',"p90":' .. whole(latency:percentile(90)) .. ',"p95":' .. whole(latency:percentile(95)) ..
      ',"p99":' .. whole(latency:percentile(99)) .. ',"p999":' .. whole(latency:percentile(99.9)) ..
      ',"max":' .. whole(latency.max) .. ',"mean":' .. number(latency.mean) .. ',"stdev":' .. number(latency.stdev) .. '}',
    '"counted":' .. tostring(seen.counted), '"statuses":{' .. seen.statuses .. '}',
    '"unexpected":' .. whole(seen.unexpected),
  }
  if user_done then
    local fine, why = pcall(user_done, summary, latency, requests)
    if not fine then seen.fault = seen.fault or tostring(why) end
  end
  if seen.fault then parts[#parts + 1] = '"fault":' .. text(seen.fault) end
  io.write('\nnightgate-wrk/1 {', table.concat(parts, ','), '}\n')
  io.flush()
end
)lua";

// Every byte that is not plainly harmless as a decimal escape.
std::string lua_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '/' ||
                       c == '.' || c == '_' || c == '-' || c == ' ';
    if (plain) {
      out += c;
    } else {
      const std::string digits = std::to_string(byte);
      out += '\\' + std::string(3 - digits.size(), '0') + digits;
    }
  }
  return out + '"';
}

}  // namespace

std::string_view wrk_hook_source() { return kHook; }

std::string wrk_script(const WrkOptions& options) {
  std::string out = "nightgate_wrk = { count = ";
  out += options.count_statuses ? "true" : "false";
  out += ", expect = {";
  for (const int status : options.expect) {
    out += " {" + std::to_string(status) + ", " + std::to_string(status) + "},";
  }
  if (options.expect.empty()) out += " {200, 299},";
  out += " }";
  if (!options.script.empty()) out += ", script = " + lua_text(options.script);
  out += " }\n";
  out += kHook;
  return out;
}

}  // namespace nightgate::formats
