#include <iostream>

#include "work.hpp"

int main() {
    for (std::string line; std::getline(std::cin, line) && line != "FINISH";)
        std::cout << work(line) << std::endl;
}
