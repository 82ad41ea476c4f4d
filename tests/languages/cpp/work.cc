#include "work.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <ranges>
#include <thread>
#include <vector>

std::string work(const std::string &line) {
    std::vector<char> memory(512 << 20, 1);
    std::atomic<int> joined = 0;
    {
        std::vector<std::jthread> threads;
        for (int i : std::views::iota(0, 8)) {
            threads.emplace_back([&, i] {
                std::vector<int> numbers(100000, i);
                joined += std::reduce(numbers.begin(), numbers.end()) == 100000 * i;
            });
        }
    }
    const auto path = std::filesystem::temp_directory_path() / "line";
    std::ofstream(path) << line;
    std::string copy;
    std::getline(std::ifstream(path), copy);
    return copy + ' ' + std::to_string(memory.size() >> 20) + ' ' + std::to_string(joined);
}
