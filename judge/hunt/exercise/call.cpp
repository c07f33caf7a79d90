#include <string>

#include "judge/answer/serve.hpp"
#include "lib/way.hpp"

namespace abh::mine {
bool passes();
}

namespace {
/// What the student's test says of the operation when it is computed in this way.
bool passes(const std::string& way) {
    abh::set_way(abh::way_named(way));
    return abh::mine::passes();
}
}  // namespace

int main() {
    return abh::judge::serve({{"passes", abh::judge::function(passes)}});
}
