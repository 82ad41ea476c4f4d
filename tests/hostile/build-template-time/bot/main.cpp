/* Every level asks for the one below under two names, so none is ever found to be known already. */
template <int level, unsigned long long path> struct tower {
    static constexpr int height = tower<level - 1, path * 2>::height + tower<level - 1, path * 2 + 1>::height;
};
template <unsigned long long path> struct tower<0, path> {
    static constexpr int height = 1;
};

int main() { return tower<60, 0>::height; }
