#if ABH_CATCH == 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "lib/device.hpp"

/// `ABH_TEST_DEVICE=cuda` runs the tests on the device; where there is none, exit status 77 says
/// that they were skipped.
int main(int argc, char** argv) {
    const char* const wanted = std::getenv("ABH_TEST_DEVICE");
    if (wanted && std::string(wanted) == "cuda") try {
            abh::set_device(abh::Device::cuda);
            std::printf("device: %s\n", abh::device_name().c_str());
        } catch (const std::exception& error) {
            std::printf("skipped: %s\n", error.what());
            return 77;
        }
    return Catch::Session().run(argc, argv);
}
