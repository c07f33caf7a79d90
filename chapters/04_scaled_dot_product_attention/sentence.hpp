#pragma once

#include <string>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::example {
// [sentence]
inline const std::vector<std::string> words{"我", "有", "一", "个", "好", "朋", "友", "P"};
inline const Ids ids = Ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});

// Columns: who, does, how many, what. Chosen by hand; chapter 5 lets the model learn them.
inline const Tensor queries = Tensor({1, 1, 8, 4}, {0, 2, 0, 0,  // 我 looks for what it does
                                                    2, 0, 0, 2,  // 有 for a person and a thing
                                                    0, 0, 1, 2,  // 一 for what it counts
                                                    0, 0, 2, 1,  // 个 for its number
                                                    0, 0, 0, 3,  // 好 for what is good
                                                    0, 0, 1, 2,  // 朋
                                                    0, 0, 1, 2,  // 友
                                                    0, 0, 0, 0});
inline const Tensor keys = Tensor({1, 1, 8, 4}, {2, 0, 0, 0,  // 我 is somebody
                                                 0, 2, 0, 0,  // 有 is a verb
                                                 0, 0, 2, 0,  // 一 is a number
                                                 0, 0, 1, 1,  // 个 counts things
                                                 0, 0, 0, 1,  // 好 goes with a thing
                                                 0, 0, 0, 2,  // 朋 and
                                                 0, 0, 0, 2,  // 友 are one thing
                                                 1, 1, 1, 1});
// Columns: the word's place, and whether it belongs to "friend".
inline const Tensor values = Tensor({1, 1, 8, 2}, {0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 1, 6, 1, 7, 0});

}  // namespace abh::example
