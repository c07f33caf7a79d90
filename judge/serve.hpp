#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "judge/values.hpp"

namespace abh::judge {

/// A function as the judge calls it: values in, values out.
using Function = std::function<Values(const Values&)>;

namespace detail {
template <class R, class... A>
Function wrap(std::function<R(A...)> f) {
    return [f](const Values& given) {
        if (given.size() != sizeof...(A)) throw std::runtime_error("wrong number of arguments");
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return values(f(as<std::decay_t<A>>(given[I])...));
        }
        (std::index_sequence_for<A...>());
    };
}
}  // namespace detail

/// Wraps any function of numbers, texts and tensors; one that returns several returns a vector of
/// tensors, or a `Values`.
template <class F>
Function function(F f) {
    if constexpr (std::is_convertible_v<F, Function>)
        return f;
    else
        return detail::wrap(std::function(f));
}

/// Answers requests until there are no more: a request is the name of a function and its arguments,
/// an answer an empty text and its results, or the text of what it threw. Requests come from
/// standard input, answers go to descriptor 3: what the functions print is not in their way.
int serve(const std::map<std::string, Function>& functions);

}  // namespace abh::judge
