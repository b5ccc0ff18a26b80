// What a compiler has to work hard on: PARTS instances of it, with regular expressions if asked.
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
#ifdef WITH_REGEX
#include <regex>
#endif

#ifndef PARTS
#define PARTS 4
#endif

template <int N>
struct part {
    using value = std::variant<int, double, std::string, std::vector<std::array<int, N + 1>>>;
    std::map<std::string, std::vector<value>> values;
    std::unordered_map<int, std::function<value(const std::array<char, N + 1> &)>> makers;

    int visit_all() const {
        int sum = 0;
        for (const auto &[name, list] : values) {
            for (const auto &one : list) {
                sum +=
                    std::visit([](const auto &v) { return static_cast<int>(sizeof v) + N; }, one);
            }
#ifdef WITH_REGEX
            sum += std::regex_match(name, std::regex("[a-z]+" + std::to_string(N)));
#else
            sum += static_cast<int>(name.size());
#endif
        }
        return sum;
    }

    void fill() {
        makers[N] = [](const std::array<char, N + 1> &a) { return value(static_cast<int>(a[0])); };
        values["part"].emplace_back(std::string("text"));
        auto &list = values["part"];
        std::sort(list.begin(), list.end(),
                  [](const value &a, const value &b) { return a.index() < b.index(); });
    }
};

template <int N>
int all_parts() {
    part<N> p;
    p.fill();
    if constexpr (N > 1) return p.visit_all() + all_parts<N - 1>();
    else return p.visit_all();
}

int main() { std::cout << all_parts<PARTS>() << '\n'; }
