/* Code with many inlined functions, for comparing what two readers make of every instruction. */
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace crowd {

template <int Number> struct Shelf {
    std::map<std::string, std::vector<int>> books;
    std::unordered_map<int, std::string> names;

    void put(const std::string &name, int value)
    {
        auto &shelf = books[name + std::to_string(Number)];
        shelf.push_back(value);
        std::sort(shelf.begin(), shelf.end(), [](int a, int b) { return a % Number < b % Number; });
        names.emplace(value, name);
    }

    std::string all() const
    {
        std::ostringstream out;
        for (const auto &[name, values] : books)
            for (int value : values)
                out << name << value + Number;
        return out.str();
    }
};

template <int Number> std::size_t fill(int count)
{
    auto shelf = std::make_unique<Shelf<Number>>();
    for (int i = 0; i < count; i++)
        shelf->put("shelf", i);
    return shelf->all().size() + fill<Number - 1>(count);
}

template <> std::size_t fill<1>(int count)
{
    return static_cast<std::size_t>(count);
}

} // namespace crowd

int main(int argc, char **)
{
    std::regex pattern("a(b|c)+d");
    bool found = std::regex_search("xxabcbcd", pattern);
    std::cout << crowd::fill<9>(argc) << found << "\n";
    return 0;
}
