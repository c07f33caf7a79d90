#include <functional>
#include <string>
#include <vector>

#include "judge/answer/serve.hpp"
#include "lines.hpp"

namespace abh::mine {
Ids targets_of(const Ids& lines, std::int32_t arrow);
bool accepts(const std::function<Ids(const Ids& lines, std::int32_t arrow)>& f);
}  // namespace abh::mine

int main() {
    using namespace abh;
    return judge::serve({{"targets_of", judge::function(mine::targets_of)},
                         {"accepts", judge::function([](const std::string& what) {
                              return mine::accepts([&](const Ids& lines, std::int32_t arrow) {
                                  if (what == "own") return mine::targets_of(lines, arrow);
                                  return judge::targets_with(what, lines, arrow);
                              });
                          })}});
}
