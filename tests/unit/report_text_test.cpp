// Words and numbers: what a change is called, and that text from outside stays text in Markdown.
#include <cmath>

#include "ci/report/text.hpp"
#include "tests/support/catch.hpp"

using namespace nightgate::report;

TEST_CASE("A change is a per cent, and from 100 % on a factor", "[report]") {
  CHECK(percent(-0.341) == "-34.1 %");
  CHECK(percent(0.02) == "+2.0 %");
  CHECK(percent(-0.0001) == "0.0 %");
  CHECK(percent(-4.2) == "5.20 times as bad");  // a latency of 5.2 times the baseline
  CHECK(percent(-1) == "2.00 times as bad");
  CHECK(percent(2) == "3.00 times as good");
  CHECK(percent(-2499) == "2,500 times as bad");
  CHECK(percent(-0.9997) == "-99.97 %");  // never all of it
  CHECK(percent(std::nan("")) == "–");
}

TEST_CASE("An interval says its unit once", "[report]") {
  CHECK(percent_range(-0.031, 0.02) == "-3.1 % to +2.0 %");
  CHECK(percent_range(-4.41, -4) == "5.41 to 5.00 times as bad");
  CHECK(percent_range(1, 2) == "2.00 to 3.00 times as good");
  CHECK(percent_range(-1.5, -0.8) == "2.50 times as bad to -80.0 %");
  CHECK(percent_range(-0.1, std::nan("")) == "–");
}

TEST_CASE("Numbers have three digits and separated thousands", "[report]") {
  CHECK(number(12345.6) == "12,346");
  CHECK(number(0.012345) == "0.0123");
  CHECK(number(-1234567) == "-1,234,567");
  CHECK(number(0) == "0");
}

TEST_CASE("Nothing from outside comes alive in Markdown", "[report]") {
  const std::string joiner = "\xE2\x80\x8D";
  CHECK(escape_markdown("see www.evil.example") == "see www" + joiner + ".evil.example");
  CHECK(escape_markdown("WwW.evil.example") == "WwW" + joiner + ".evil.example");
  CHECK(escape_markdown("GH-1, gh-22") == "GH-" + joiner + "1, gh-" + joiner + "22");
  CHECK(escape_markdown("#1 owner/name#2") == "#" + joiner + "1 owner/name#" + joiner + "2");
  CHECK(escape_markdown("@someone") == "@" + joiner + "someone");
  CHECK(escape_markdown("https://evil.example").find("://") == std::string::npos);
  CHECK(escape_markdown("<b>|`x`") == "&lt;b&gt;\\|\\`x\\`");
}
