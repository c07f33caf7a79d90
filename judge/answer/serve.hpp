#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "judge/answer/values.hpp"

namespace abh::judge {

/// A function in the form that the judge calls: values in, values out.
using Function = std::function<Values(const Values&)>;

namespace detail {
/// Checks that a function has not changed a small tensor that it takes by reference. A copy of a
/// tensor is only a handle, so that `Tensor y = x; y += ...` writes into x.
template <class A>
void require_unchanged(const std::decay_t<A>& x, const Value& given, std::size_t i) {
    if constexpr (std::is_lvalue_reference_v<A>) {
        const std::size_t size = given.reals.size() + given.whole.size();
        if (given.shape.empty() || size > 4096) return;
        const Value now = value(x);
        if (now.reals != given.reals || now.whole != given.whole)
            throw std::logic_error("argument " + std::to_string(i + 1) +
                                   " was changed by the call: a copy of a tensor is a handle to "
                                   "the same numbers; use x.clone()");
    }
}

template <class R, class... A>
Function wrap(std::function<R(A...)> f) {
    return [f](const Values& given) {
        if (given.size() != sizeof...(A)) throw std::runtime_error("wrong number of arguments");
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            std::tuple<std::decay_t<A>...> arguments{as<std::decay_t<A>>(given[I])...};
            const Values results = values(f(std::get<I>(arguments)...));
            (require_unchanged<A>(std::get<I>(arguments), given[I], I), ...);
            return results;
        }
        (std::index_sequence_for<A...>());
    };
}
}  // namespace detail

/// Wraps any function of numbers, texts and tensors. To return several results, it returns a vector
/// of tensors or a `Values`.
template <class F>
Function function(F f) {
    if constexpr (std::is_convertible_v<F, Function>)
        return f;
    else
        return detail::wrap(std::function(f));
}

/// Answers requests until there are no more. A request is the name of a function with its
/// arguments; an answer is an empty text with the results, or the text of the exception. Requests
/// come from standard input, but answers go to descriptor 3, apart from what functions print.
int serve(const std::map<std::string, Function>& functions);

}  // namespace abh::judge
