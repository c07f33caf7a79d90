// Once: files: written whole or not at all, read up to a limit; and text of strangers.
#include "lib/io/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "lib/io/text.hpp"
#include "lib/random.hpp"
#include "tests/ways.hpp"

using namespace abh;
namespace fs = std::filesystem;

TEST_CASE("a file that is not committed leaves nothing behind and keeps what stood there") {
    const Folder folder;
    { AtomicFile(folder / "new.txt").write("half"); }
    REQUIRE(folder.count() == 0);
    put(folder / "old.txt", "before");
    { AtomicFile(folder / "old.txt").write("half"); }
    REQUIRE(folder.count() == 1);
    REQUIRE(read_file(folder / "old.txt") == "before");
}

TEST_CASE("a committed file holds what was written, in folders made for it") {
    const Folder folder;
    const std::string text("all\0bytes\xff", 10);
    for (const std::string& content : {text, std::string(), std::string(300000, 'x')}) {
        AtomicFile file(folder / "a/b/file.bin");
        file.write(content);
        file.commit();
        REQUIRE(read_file(folder / "a/b/file.bin") == content);
    }
    REQUIRE(std::distance(fs::directory_iterator(folder / "a/b"), fs::directory_iterator()) == 1);
}

TEST_CASE("a place that cannot be written or read is named with the reason") {
    const Folder folder;
    put(folder / "file", "");
    REQUIRE_THROWS_WITH(AtomicFile(folder / "file/inside"),
                        "cannot write " + (folder / "file/inside").string() + ": Not a directory");
    REQUIRE_THROWS_WITH(AtomicFile(folder.path), Contains(": Is a directory"));
    REQUIRE_THROWS_WITH(AtomicFile("/proc/none/file"), Contains("cannot write /proc/none/file: "));
    REQUIRE_THROWS_WITH(read_file(folder / "none"), "cannot read " + (folder / "none").string() +
                                                        ": No such file or directory");
    REQUIRE_THROWS_WITH(read_file(folder.path), Contains(": Is a directory"));
    REQUIRE_THROWS_WITH(read_file(folder / "file/inside"), Contains(": Not a directory"));
}

TEST_CASE("what a link leads to is written, and what is no file is refused") {
    const Folder folder;
    fs::create_directory(folder / "there");
    put(folder / "there/file", "before");
    fs::create_symlink("there/file", folder / "link");
    fs::create_symlink(folder / "there/new", folder / "broken");
    for (const char* link : {"link", "broken"}) {
        AtomicFile file(folder / link);
        file.write("after");
        file.commit();
        REQUIRE(fs::is_symlink(folder / link));
    }
    REQUIRE(read_file(folder / "there/file") == "after");
    REQUIRE(read_file(folder / "there/new") == "after");
    fs::create_symlink("around", folder / "around");
    REQUIRE_THROWS_WITH(AtomicFile(folder / "around"), Contains("cannot write"));
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    REQUIRE_THROWS_WITH(AtomicFile(folder / "pipe"),
                        "cannot write " + (folder / "pipe").string() + ": not a regular file");
    REQUIRE_THROWS_WITH(AtomicFile("/dev/null"), "cannot write /dev/null: not a regular file");
    REQUIRE(fs::is_character_file("/dev/null"));
}

TEST_CASE("no more of a file is read than may be, whatever it is") {
    const Folder folder;
    put(folder / "file", std::string(100000, 'x'));
    REQUIRE(read_file(folder / "file", 100000).size() == 100000);
    REQUIRE_THROWS_WITH(read_file(folder / "file", 99999), Contains("more than 99999 bytes"));
    REQUIRE_THROWS_WITH(read_file("/dev/zero", 100000),
                        "cannot read /dev/zero: it has more than 100000 bytes, the limit");
}

TEST_CASE("a full disk is reported, and the old file stays") {
    if (!fs::exists("/dev/full")) return;
    const Folder folder;
    for (std::size_t size : {std::size_t{5}, std::size_t{100000}}) {
        const fs::path path = folder / "file.txt";
        put(path, "before");
        // the name under which the file is written until it is whole: a device without room
        fs::create_symlink("/dev/full", path.string() + ".part" + std::to_string(::getpid()));
        const auto write = [&] {
            AtomicFile file(path);
            file.write(std::string(size, 'x'));
            file.commit();
        };
        REQUIRE_THROWS_WITH(write(), "cannot write " + path.string() + ": No space left on device");
        REQUIRE(read_file(path) == "before");
        REQUIRE(folder.count() == 1);
    }
}

TEST_CASE("a pointer of git-lfs is not taken for the file that it stands for") {
    const Folder folder;
    put(folder / "pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    REQUIRE_THROWS_WITH(read_file(folder / "pointer"), Contains("git lfs pull"));
}

TEST_CASE("what is printed commands no terminal") {
    CHECK(printable("a\x1B[31m\n\x7F") == "a\\x1B[31m\\x0A\\x7F");
    CHECK(printable("\xC2\x9B"
                    "2J") == "\\xC2\\x9B2J");  // a control character of C1
    CHECK(printable("我\xFF友\xE6") == "我\\xFF友\\xE6");
    for (const std::string character :  // what turns or ends a line, or commands
         {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066",
          "\u2069"}) {
        std::string bytes;
        for (const char byte : character)
            bytes += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
        CHECK(printable("a" + character + "b") == "a" + bytes + "b");
    }
    const std::string visible = "\u061b\u061d\u200a\u2010\u2027\u202f\u2065\u206a\ufefe\u00a0";
    CHECK(printable(visible) == visible);
    CHECK(printable(std::string_view("\0", 1)) == "\\x00");
    CHECK(printable("我有一个", 2) == "我有...");
    CHECK(printable("我有", 2) == "我有");
    CHECK(printable("", 0) == "");
}

TEST_CASE("of any bytes at all, what is printed is UTF-8 without control characters") {
    Random random(3);
    const Ids bytes = random_ids({2000}, 0, 256, random.stream());
    std::string text;
    for (const std::int32_t byte : bytes.values()) text += static_cast<char>(byte);
    const std::string shown = printable(text);
    CHECK(is_utf8(shown));
    CHECK(std::ranges::none_of(shown, [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
}
