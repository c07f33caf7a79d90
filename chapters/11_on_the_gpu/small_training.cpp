#include "chapters/11_on_the_gpu/small_training.hpp"

#include "lib/cuda/counts.hpp"

namespace abh {
// [small training]
Task small_task() {
    Task task = toy_task();
    TransformerOptions& o = task.model;
    o.layer.attention.d_model = 32;
    o.layer.attention.n_heads = 2;
    o.layer.d_ff = 64;
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.layer.add_norm.dropout = Real(0.1);
    task.training.optimizer = "adam";
    return task;
}

Losses train_some_steps(const Task& task, Index steps, std::uint64_t seed, bool count) {
    TrainingOptions training = task.training;
    training.epochs = steps;  // of one batch each
    training.batch_size = static_cast<Index>(task.corpus.train.size());
    training.learning_rate = Real(1e-3);
    Transformer model(task.model, Random(seed));
    Losses result;
    Transfers before;
    train(model, task.corpus, training, [&](const StepReport& step) {
        result.loss.push_back(step.loss);
        if (step.step == steps - 1) before = transfers();
        if (count && step.step >= steps - 1) cuda::count_kernels(step.step == steps - 1);
        const Transfers now = transfers();
        result.moved = {now.to_device - before.to_device, now.to_host - before.to_host,
                        now.bytes_to_device - before.bytes_to_device,
                        now.bytes_to_host - before.bytes_to_host};
    });
    return result;
}

}  // namespace abh
