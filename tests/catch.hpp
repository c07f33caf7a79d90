#pragma once

// Catch2 under one name for both of its versions: Debian 12 has 2, newer systems have 3.
#if ABH_CATCH == 3
#include <catch2/catch_approx.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

using Catch::Approx;
inline auto Contains(const std::string& part) {
    return Catch::Matchers::ContainsSubstring(part);
}
#else
#include <catch2/catch.hpp>

using Catch::Matchers::Contains;
#endif
