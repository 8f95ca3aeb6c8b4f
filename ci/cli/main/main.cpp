#include "ci/cli/cli.hpp"

int main(int argc, char** argv) { return nightgate::cli::run(argc, argv); }
