#pragma once
#include <string>

std::string work(const std::string &line);
