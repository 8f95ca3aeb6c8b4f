// The answers of a broker, in a form that can be compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/measure/deployment.hpp"
#include "gate/measure/measurement.hpp"

namespace nightgate::measure {

// Hash of an answer: status and, for JSON, its canonical text (keys sorted) without what lies at the ignored pointers;
// else the body as it is. A "*" segment in a pointer stands for every element or member.
[[nodiscard]] std::string answer_hash(int status, std::string_view body, const std::vector<std::string>& ignore);
// Nothing is left to compare: no body, or JSON that is null, "", [] or {} without the ignored pointers.
[[nodiscard]] bool says_nothing(std::string_view body, const std::vector<std::string>& ignore);
// Sends each request to the first broker, in order. Any status is an answer; no answer is Code::measure.
[[nodiscard]] Result<std::vector<Measurer::Answer>> ask_all(RunningDeployment& deployment,
                                                            const std::vector<config::Equivalence>& requests);

}  // namespace nightgate::measure
