// Templates, lambdas, namespaces, constructors and what the standard library inlines.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace geometry::flat {

template <typename T> class Grid {
public:
    explicit __attribute__((noinline)) Grid(std::size_t n) : cells_(static_cast<T *>(std::malloc(n * sizeof(T)))) {}
    __attribute__((noinline)) ~Grid() { std::free(cells_); }
    T *more(std::size_t n) { return static_cast<T *>(std::malloc(n * sizeof(T))); }

private:
    T *cells_;
};

struct Shape {
    virtual ~Shape() = default;
    virtual std::string name() const = 0;
};

struct Circle final : Shape {
    std::string name() const override { return std::string(64, 'c'); }
};

} // namespace geometry::flat

namespace {

__attribute__((noinline)) std::size_t fill(int n)
{
    std::vector<std::string> names;
    std::map<int, std::string> index;
    for (int i = 0; i < n; i++) {
        names.push_back(std::string(40, 'a'));
        index[i] = names.back();
    }
    return names.size() + index.size();
}

template <typename F> __attribute__((noinline)) void *call(F function)
{
    return function();
}

} // namespace

int main(int argc, char **)
{
    geometry::flat::Grid<double> grid(argc);
    auto taker = [&](int n) { return grid.more(n); };
    std::free(taker(argc));
    std::free(call([argc] { return std::malloc(argc); }));
    std::unique_ptr<geometry::flat::Shape> shape = std::make_unique<geometry::flat::Circle>();
    return static_cast<int>(fill(argc) + shape->name().size());
}
