/* A list of a hundred million template arguments. */
template <int... numbers> struct list {
    static constexpr unsigned long length = sizeof...(numbers);
};
template <int count> struct counted {
    using type = list<__integer_pack(count)...>;
};

int main() { return counted<100000000>::type::length == 0; }
