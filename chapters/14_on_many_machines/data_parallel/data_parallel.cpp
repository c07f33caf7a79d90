#include "chapters/14_on_many_machines/data_parallel/data_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "chapters/03_masks/packing.hpp"
#include "lib/io/files.hpp"

namespace abh {
// [shards]
std::vector<Index> cut_into_shards(const Batch& batch, Index shards, std::int32_t pad) {
    const Packing sources = leave_out_pads(batch.source.ids, pad),
                  targets = leave_out_pads(batch.target_in.ids, pad);
    const auto before = [&](Index pair) { return sources.offsets(pair) + targets.offsets(pair); };
    const Index pairs = sources.sentences(), words = before(pairs);
    std::vector<Index> first(static_cast<std::size_t>(shards) + 1, pairs);
    first.front() = 0;
    for (Index shard = 1; shard < shards; ++shard) {
        Index pair = first[static_cast<std::size_t>(shard) - 1];
        while (pair < pairs && before(pair) * shards < words * shard) ++pair;
        first[static_cast<std::size_t>(shard)] = pair;
    }
    return first;
}

// [construct]
namespace {

/// A rank's slices, with each piece as a parameter that shares its elements with the model. A piece
/// that is a whole parameter is the model's own, and shares its gradient, too.
std::vector<std::vector<Parameter>> slices_of(const Parameters& parameters,
                                              std::span<const Bucket> buckets, const Ranks& ranks) {
    std::vector<std::vector<Parameter>> slices;
    for (const Bucket& bucket : buckets) {
        slices.emplace_back();
        for (const Piece& piece : bucket.slice(ranks.rank())) {
            const Parameter& whole = *parameters[piece.parameter].parameter;
            slices.back().push_back(piece.count() == whole.value.size()
                                        ? whole
                                        : Parameter(piece_of(whole.value, piece)));
        }
    }
    return slices;
}

Parameters named_slices(const Parameters& parameters, std::span<const Bucket> buckets,
                        const Ranks& ranks, std::span<std::vector<Parameter>> slices) {
    Parameters list;
    for (std::size_t b = 0; b < buckets.size(); ++b)
        for (std::size_t i = 0; i < slices[b].size(); ++i)
            list.push_back(
                {parameters[buckets[b].slice(ranks.rank())[i].parameter].name, &slices[b][i]});
    return list;
}

}  // namespace

DataParallel::DataParallel(Transformer& model, const TrainingOptions& training, Ranks& ranks,
                           const DataParallelOptions& options)
    : model_(model),
      ranks_(ranks),
      options_(options),
      parameters_(parameters_of(model)),
      buckets_(cut_into_buckets(parameters_, ranks.size(), options.bucket)),
      slices_(slices_of(parameters_, buckets_, ranks)),
      slices_list_(named_slices(parameters_, buckets_, ranks, slices_)),
      sum_(parameters_, buckets_, ranks, slices_, options.shards, options.bfloat16),
      trainer_(model, training, make_optimizer(slices_list_, training)) {
    for (const NamedParameter& p : parameters_) ranks_.broadcast(p.parameter->value);
}
// [forward and backward]
double DataParallel::forward_backward(std::span<const Batch> batches) {
    const Index n_targets = count_targets(batches);  // of all ranks, because a mean of the ranks'
                                                     // means would be another loss
    const auto compute = [&](const std::vector<Part>& parts) {
        trainer_.begin();
        double loss = 0;
        for (const Part& part : parts)
            loss += trainer_.add_part(part.batch, n_targets, part.number);
        return loss;
    };
    if (options_.shards == 1) return compute(parts_of_shard(batches, 0));  // nothing to sum
    const Parts own = sum_.begin();
    std::vector<double> losses;
    for (Index shard = own.begin; shard < own.end; ++shard) {
        const std::vector<Part> parts = parts_of_shard(batches, shard);
        sum_.begin_shard(shard, options_.overlap ? std::ssize(parts) : 0);
        losses.push_back(compute(parts));
        sum_.end_shard();
    }
    return sum_in_order(losses, sum_.owners());
}

/// One shard of each batch, for those batches that have pairs in it.
std::vector<DataParallel::Part> DataParallel::parts_of_shard(std::span<const Batch> batches,
                                                             Index shard) const {
    const std::int32_t pad = model_.options().pad;
    std::vector<Part> parts;
    for (Index number = shard; const Batch& batch : batches) {
        const std::vector<Index> first = cut_into_shards(batch, options_.shards, pad);
        const Index begin = first[static_cast<std::size_t>(shard)],
                    end = first[static_cast<std::size_t>(shard) + 1];
        if (begin < end)
            parts.push_back(
                {make_batch(batch.source.ids.rows(begin, end), batch.target_in.ids.rows(begin, end),
                            batch.target_out.rows(begin, end), pad),
                 number});
        number += options_.shards;
    }
    return parts;
}

/// Adds the numbers of all ranks, one per shard or block, in the order of `owners`.
double DataParallel::sum_in_order(const std::vector<double>& own, std::span<const Index> owners) {
    std::vector<std::vector<double>> numbers;
    for (const std::string& bytes : ranks_.all_gather(to_bytes(own)))
        numbers.push_back(from_bytes<double>(bytes));
    std::vector<std::size_t> next(numbers.size(), 0);
    double sum = 0;
    for (const Index owner : owners) {
        const auto r = static_cast<std::size_t>(owner);
        sum += numbers[r][next[r]++];
    }
    return sum;
}
// [clip]
double DataParallel::clip(Real largest) {
    std::vector<double> squares;  // by blocks, which do not depend on the number of ranks
    std::vector<Index> owners;
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        std::ranges::copy(buckets_[b].owners, std::back_inserter(owners));
        for (Parameter& slice : sum_.finish(b))
            for (Index begin = 0; begin < slice.value.size(); begin += block_size) {
                const Index end = std::min(slice.value.size(), begin + block_size);
                const Tensor g = piece_of(slice.grad(), {.begin = begin, .end = end});
                squares.push_back(dot(g, g));
            }
    }
    const double norm = std::sqrt(sum_in_order(squares, owners));
    if (largest > 0 && norm > static_cast<double>(largest))
        for (const NamedParameter& slice : slices_list_)
            slice.parameter->grad() *= static_cast<Real>(static_cast<double>(largest) / norm);
    return norm;
}
// [gather]
/// Starts to send this rank's slice of a bucket to all others.
/// @param whole  tensors, one for each parameter of the model
DataParallel::Arriving DataParallel::send_slice(const Bucket& bucket,
                                                std::span<const Tensor> whole) {
    if (ranks_.size() == 1) return {};
    Arriving others;
    for (const std::size_t p : bucket.parameters) others.tensors.push_back(whole[p]);
    others.row = row_of(bucket, others.tensors);
    std::vector<Room> slices;
    for (Index r = 0; r < ranks_.size(); ++r) {
        Tensor slice = others.row.rows(bucket.start(r), bucket.start(r + 1));
        slices.push_back(room_of(slice));
    }
    others.transfer = ranks_.share("slices", slices);
    if (others.transfer) others.transfer->complete();  // keeps all of them moving
    return others;
}

/// Waits for the others' slices, which complete the tensors.
void DataParallel::complete(std::span<Arriving> buckets) {
    for (Arriving& others : buckets) {
        ranks_.wait(others.transfer);
        put_back(others.row, others.tensors);
    }
}
// [update]
const Parameters& DataParallel::slices() {
    for (std::size_t b = 0; b < buckets_.size(); ++b) sum_.finish(b);
    return slices_list_;
}

void DataParallel::update(Real learning_rate) {
    Optimizer& own = optimizer();
    std::vector<Tensor> weights;
    for (const NamedParameter& p : parameters_) weights.push_back(p.parameter->value);
    std::vector<Arriving> others;
    std::size_t slice = 0;
    own.begin_step();
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        for (std::size_t left = sum_.finish(b).size(); left > 0; --left)
            own.move(slice++, learning_rate);
        others.push_back(send_slice(buckets_[b], weights));
    }
    complete(others);
    model_.random().next_step();
}

// [memory]
std::vector<NamedTensor> DataParallel::memory() {
    const std::vector<NamedTensor> own = optimizer().memory();
    std::string kinds;  // what an optimizer remembers per parameter: mean and square, for instance
    for (std::size_t i = 0; i < own.size(); i += slices_list_.size())
        kinds += own[i].name.substr(0, own[i].name.find('.')) + " ";
    kinds = ranks_.all_gather(kinds).front();  // a rank may have no slice
    std::vector<NamedTensor> all;
    std::istringstream words(kinds);
    auto next = own.begin();
    for (std::string kind; words >> kind;) {
        std::vector<Tensor> whole;
        for (const NamedParameter& p : parameters_) whole.emplace_back(p.parameter->value.shape());
        std::vector<Arriving> others;
        for (const Bucket& bucket : buckets_) {
            for (const Piece& piece : bucket.slice(ranks_.rank())) {
                Tensor part = piece_of(whole[piece.parameter], piece);
                std::ranges::copy((next++)->tensor.values(), part.values().begin());
            }
            others.push_back(send_slice(bucket, whole));
        }
        complete(others);
        for (std::size_t p = 0; p < whole.size(); ++p)
            all.push_back({join_name(kind, parameters_[p].name), whole[p]});
    }
    return all;
}

void DataParallel::remember(std::span<const Tensor> memory, Index steps) {
    optimizer().set_steps(steps);
    std::vector<NamedTensor> own = optimizer().memory();
    auto next = own.begin();
    for (std::size_t first = 0; next != own.end(); first += parameters_.size())  // of a kind
        for (const Bucket& bucket : buckets_)
            for (const Piece& piece : bucket.slice(ranks_.rank())) {
                const Tensor from = piece_of(memory[first + piece.parameter], piece);
                std::ranges::copy(from.values(), (next++)->tensor.values().begin());
            }
}

}  // namespace abh
