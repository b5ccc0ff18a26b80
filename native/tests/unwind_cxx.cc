// Walks from C++: destructors while an exception is on its way, constructors of statics, virtual
// calls, catch blocks, and rethrown exceptions.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" void check_from_cxx(const char *what);
extern "C" int main_of_cxx();

namespace {

struct Witness {
    explicit Witness(const char *what) : what_(what) { check_from_cxx("constructor"); }
    ~Witness() { check_from_cxx(what_); }
    const char *what_;
};

struct Base {
    virtual ~Base() { check_from_cxx("virtual destructor"); }
    virtual int call(int depth) = 0;
};

struct Derived : Base {
    int call(int depth) override {
        std::vector<std::string> names(static_cast<std::size_t>(depth % 5 + 1),
                                       "a long enough string to allocate");
        Witness witness("destructor while unwinding");
        check_from_cxx("virtual call");
        if (depth == 0) throw std::runtime_error("bottom " + names[0]);
        return call(depth - 1) + static_cast<int>(names.size());
    }
};

__attribute__((noinline)) int catches(int depth) {
    std::unique_ptr<Base> object(new Derived);
    try {
        return object->call(depth);
    } catch (const std::runtime_error &error) {
        check_from_cxx("catch block");
        if (depth > 2) throw;
        return static_cast<int>(std::string(error.what()).size());
    }
}

__attribute__((noinline)) int nested(int depth) {
    try {
        return catches(depth);
    } catch (...) {
        check_from_cxx("catch all");
        return depth;
    }
}

} // namespace

extern "C" int main_of_cxx() {
    static Witness lazy("never destroyed here");
    int sum = 0;
    for (int depth = 0; depth < 12; depth++) sum += nested(depth);
    auto function = [&](int n) {
        check_from_cxx("lambda");
        return n + sum;
    };
    return function(1);
}
