#if ABH_CATCH == 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "lib/device.hpp"
#include "lib/storage.hpp"

/// `ABH_TEST_WAY` says under which way the tests run: plain, fast (the default) or cuda. Where
/// there is no device, exit status 77 says that those of cuda were skipped. Memory is checked,
/// unless `ABH_TEST_REUSES_MEMORY` is set: the programs use the blocks of one tensor for the next.
int main(int argc, char** argv) {
    const char* const wanted = std::getenv("ABH_TEST_WAY");
    if (!std::getenv("ABH_TEST_REUSES_MEMORY")) abh::memory::check();
    try {
        if (wanted) abh::set_way(abh::way_named(wanted));
    } catch (const std::invalid_argument& error) {
        std::printf("%s\n", error.what());
        return 1;
    } catch (const std::exception& error) {
        std::printf("skipped: %s\n", error.what());
        return 77;
    }
    std::printf("way: %s, device: %s\n", abh::to_string(abh::way()), abh::device_name().c_str());
    return Catch::Session().run(argc, argv);
}
