#include "chapters/15_language_model/experiment.hpp"
#include "lib/program/program.hpp"

using namespace abh;

int main(int argc, char** argv) {
    Program program("One stack that only continues text");
    const Options seeds = program.options().command("seeds", "the same over five seeds");
    const Options parts =
        program.options().command("parts", "one part at a time as it was in 2017");
    return program.run(argc, argv, [&] {
        if (seeds.chosen())
            show_experiment(5, 1, program.results());
        else if (parts.chosen())
            show_parts(5, program.results());
        else
            show_experiment(1, 1, program.results());
    });
}
