// Prints the table of bisect/README.md: the shipped search against the notes' figures, and classic halving beside it.
//   bench_search_table [TRIALS] [SEED]      (2000 trials a cell unless told; minutes of one core)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bisect/search/search.hpp"
#include "bisect/search/simulate.hpp"

using namespace nightgate::search;

namespace {

struct Cell {
  std::string name;
  Simulation simulation;
  double notes_right = 0;  // %, the notes' column "full", error 5 %
  double notes_runs = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Simulation base(int merges, double d) {
  Simulation simulation;
  simulation.merges = merges;
  simulation.noise = 0.1;
  simulation.effect = 0.1 * d;
  simulation.error = 0.05;
  return simulation;
}

std::vector<Cell> clean_cells() {
  struct Row {
    int merges;
    double d, right, runs;
  };
  const Row rows[] = {{16, 1, 99, 166},  {16, 2, 100, 53},  {16, 4, 100, 26},   {16, 8, 100, 22},
                      {64, 1, 99, 213},  {64, 2, 100, 66},  {64, 4, 100, 32},   {64, 8, 100, 27},
                      {256, 2, 100, 80}, {256, 4, 100, 38}, {1024, 2, 100, 91}, {1024, 4, 100, 44}};
  std::vector<Cell> cells;
  for (const Row& row : rows) {
    Cell cell{std::to_string(row.merges) + " merges, d = " + std::to_string(std::lround(row.d)),
              base(row.merges, row.d), row.right, row.runs};
    cell.simulation.shift_known = 0;
    cells.push_back(cell);
  }
  return cells;
}

std::vector<Cell> stress_cells() {
  struct Row {
    const char* name;
    std::function<void(Simulation&)> change;
    double right2, runs2, right4, runs4;
  };
  const Row rows[] = {
      {"nothing", [](Simulation&) {}, 99.6, 69, 100, 32},
      {"speed walks", [](Simulation& s) { s.drift = Drift::walk; }, 99.6, 70, 100, 33},
      {"speed jumps", [](Simulation& s) { s.drift = Drift::jump; }, 99.9, 69, 99.9, 34},
      {"speed trends", [](Simulation& s) { s.drift = Drift::trend; }, 99.7, 68, 100, 32},
      {"5 % outliers", [](Simulation& s) { s.outliers = 0.05; }, 99.6, 78, 99.9, 37},
      {"slow side twice as noisy", [](Simulation& s) { s.slow_noise = 2; }, 98.6, 104, 99.6, 44},
      {"image offsets 0.2 of the shift", [](Simulation& s) { s.image_effect = 0.2; }, 88.8, 91, 91.2, 45},
      {"two culprits, 60/40", [](Simulation& s) { s.culprits = 2; }, 93, 210, 99.8, 73},
      {"no culprit", [](Simulation& s) { s.culprits = 0; }, 100, 26, 100, 10},
      {"all of it, moderately",
       [](Simulation& s) {
         s.drift = Drift::walk;
         s.drift_size = 0.5;
         s.outliers = 0.025;
         s.slow_noise = 1.4;
         s.image_effect = 0.08;
       },
       98.0, 97, 99.5, 41},
  };
  std::vector<Cell> cells;
  for (const Row& row : rows)
    for (const bool small : {true, false}) {
      Cell cell{std::string(row.name) + (small ? ", d = 2" : ", d = 4"), base(64, small ? 2 : 4),
                small ? row.right2 : row.right4, small ? row.runs2 : row.runs4};
      row.change(cell.simulation);
      cells.push_back(cell);
    }
  return cells;
}

std::vector<Cell> other_cells() {
  std::vector<Cell> cells{{"20 % of targets missing, d = 2", base(64, 2)},
                          {"20 % of targets missing, d = 4", base(64, 4)},
                          {"three machines, d = 2", base(64, 2)},
                          {"error 1 %, d = 2", base(64, 2)},
                          {"error 1 %, d = 4", base(64, 4)}};
  cells[0].simulation.missing = cells[1].simulation.missing = 0.2;
  cells[2].simulation.machines = 3;
  cells[3].simulation.error = cells[4].simulation.error = 0.01;
  return cells;
}

// The target: right within three standard errors of the difference (at least half a point), runs within 1.05 of the
// notes'.
const char* verdict(const Cell& cell, const SimulationResult& result, int trials) {
  if (cell.notes_runs <= 0) return "";
  const double p = cell.notes_right / 100;
  const double q = result.right;
  const double se = std::sqrt((p * (1 - p) + q * (1 - q)) / trials);
  const double slack = std::max(0.005, 3 * se);
  if (q < p - slack) return "less right";
  if (result.measurements_mean > 1.05 * cell.notes_runs) return "more runs";
  return "reached";
}

void print(const Cell& cell, int trials, std::uint64_t seed) {
  Simulation simulation = cell.simulation;
  simulation.runs = trials;
  simulation.seed = seed;
  const auto start = std::chrono::steady_clock::now();
  const SimulationResult full = simulate(simulation);
  const double took = seconds_since(start) / trials;
  simulation.strategy = Strategy::halving5;
  const SimulationResult classic = simulate(simulation);
  std::string notes = "-";
  std::string ratio = "-";
  char text[64];
  if (cell.notes_runs > 0) {
    std::snprintf(text, sizeof text, "%.4g / %.0f", cell.notes_right, cell.notes_runs);
    notes = text;
    std::snprintf(text, sizeof text, "%.2f", full.measurements_mean / cell.notes_runs);
    ratio = text;
  }
  std::printf("| %s | %s | %.1f / %.1f / %.1f | %.1f | %.0f | %s | %s | %.1f / %.0f | %.1f |\n", cell.name.c_str(),
              notes.c_str(), 100 * full.right, 100 * full.wrong, 100 * full.undecided, full.measurements_mean,
              full.measurements_p95, ratio.c_str(), verdict(cell, full, trials), 100 * classic.right,
              classic.measurements_mean, 1000 * took);
  std::fflush(stdout);
}

// The slowest single decide() of one bisect of 1,024 merges, everything computed anew each time, as a resume would.
void print_decision_time() {
  Problem problem;
  problem.merges = 1024;
  problem.shift = 0.2;
  problem.noise = 0.1;
  std::vector<Observation> log;
  double worst = 0;
  double noise = 0.1;
  for (;;) {
    const auto start = std::chrono::steady_clock::now();
    const Decision decision = decide(problem, log);
    worst = std::max(worst, seconds_since(start));
    if (decision.next.empty()) break;
    int order = 0;
    for (const NextBlock& block : decision.next)
      for (const int point : block.points) {
        noise = std::fmod(noise * 7.13 + 0.017, 0.3);
        log.push_back({block.block, block.machine, order++, point, (point >= 700 ? 0.2 : 0.0) + noise, block.phase,
                       block.candidate});
      }
  }
  std::printf("\nSlowest decide() from scratch at 1,024 merges: %.2f ms (%zu measurements).\n", 1000 * worst,
              log.size());
}

}  // namespace

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::printf("%d simulated bisects a cell, seed %llu, error 5 %% unless said.\n\n", trials,
              static_cast<unsigned long long>(seed));
  std::printf(
      "| case | notes: right / runs | right / wrong / undecided %% | mean runs | p95 | of notes | target | halving5: "
      "right / runs | ms a bisect |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& cells : {clean_cells(), stress_cells(), other_cells()})
    for (const Cell& cell : cells) print(cell, trials, seed);
  print_decision_time();
  return 0;
}
