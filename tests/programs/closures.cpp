/* What compilers make of modern C++: lambdas, exceptions, containers, callbacks from the standard
 * library, over-aligned locals; ways into each allocation that differ in a single frame.
 * Says a sum over what it computed.
 * build: -std=c++17
 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "site.h"

using Callback = std::function<long(long)>;

struct alignas(32) Lane {
    double values[8];
};

/* Many registers saved, the stack realigned: frames that only a whole rule describes. */
static SITE double site_lanes(int n, const Callback &each) {
    Lane sum{};
    for (int i = 0; i < n; i++) {
        auto lane = std::make_unique<Lane>();
        Lane *kept = lane.get();
        KEEP(kept);
        for (int j = 0; j < 8; j++) kept->values[j] = static_cast<double>(each(i * j));
        for (int j = 0; j < 8; j++) sum.values[j] += kept->values[j];
    }
    return std::accumulate(sum.values, sum.values + 8, 0.0);
}

static SITE long site_compared(std::vector<std::string> words) {
    std::sort(words.begin(), words.end(), [](const std::string &a, const std::string &b) {
        std::string left = a + std::string(20, '-'), right = b + std::string(20, '-');
        return left < right;
    });
    std::map<std::string, std::vector<long>> index;
    for (auto &word : words) index[word.substr(0, word.size() / 2)].push_back(long(word.size()));
    return std::accumulate(index.begin(), index.end(), 0L,
                           [](long n, const auto &entry) { return n + entry.second.front(); });
}

static SITE long descend(int depth, const Callback &leaf) {
    std::vector<long> kept(size_t(depth) + 1, depth);
    if (!depth) return leaf(long(kept.size()));
    return descend(depth - 1, [&](long n) { return leaf(n + kept.back()); });
}

static SITE long site_thrown(int depth) {
    try {
        return descend(depth, [](long n) -> long {
            if (n % 3)
                throw std::runtime_error("a message too long for the string itself " +
                                         std::to_string(n));
            return n;
        });
    } catch (const std::runtime_error &error) {
        return long(std::string(error.what()).size());
    }
}

int main() {
    std::vector<std::string> words;
    for (int i = 0; i < 300; i++) words.push_back(std::to_string(i * 7919) + std::string(18, 'x'));
    long sum = 0;
    for (int i = 0; i < 20; i++) {
        sum += site_compared(words) + site_thrown(i);
        sum += long(
            site_lanes(10, [i](long n) { return descend(i % 5, [n](long m) { return n + m; }); }));
    }
    say("sum %ld", sum);
    return 0;
}
