package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;

/**
 * A second reading of the Llama papers, in float64: no cache, no batch, one vector at a time, written against the
 * unfused weights. Shares nothing with the decoder but the configuration.
 */
final class ReferenceLlama {

    private final ModelConfig config;
    private final RandomLlama model;

    ReferenceLlama(RandomLlama model) {
        this.config = model.config();
        this.model = model;
    }

    /** @return logits at every position, [tokens, vocabulary] */
    double[][] logits(int[] tokens) {
        int length = tokens.length;
        double[][] states = new double[length][];
        for (int t = 0; t < length; t++) {
            states[t] = new double[config.hiddenSize()];
            for (int i = 0; i < config.hiddenSize(); i++) {
                states[t][i] = weight("model.embed_tokens.weight")[tokens[t] * config.hiddenSize() + i];
            }
        }
        for (int layer = 0; layer < config.layerCount(); layer++) {
            String prefix = "model.layers." + layer + ".";
            addAttention(prefix, config.layers().get(layer).attention(), states);
            for (double[] state : states) {
                addFeedForward(prefix, state);
            }
        }
        double[][] logits = new double[length][];
        for (int t = 0; t < length; t++) {
            logits[t] = times("lm_head.weight", norm("model.norm.weight", states[t]));
        }
        return logits;
    }

    private void addAttention(String prefix, AttentionSpec spec, double[][] states) {
        int length = states.length;
        double[][] q = new double[length][];
        double[][] k = new double[length][];
        double[][] v = new double[length][];
        for (int t = 0; t < length; t++) {
            double[] normed = norm(prefix + "input_layernorm.weight", states[t]);
            q[t] = rotated(times(prefix + "self_attn.q_proj.weight", normed), t);
            k[t] = rotated(times(prefix + "self_attn.k_proj.weight", normed), t);
            v[t] = times(prefix + "self_attn.v_proj.weight", normed);
        }
        for (int t = 0; t < length; t++) {
            double[] mixed = new double[config.headCount() * config.headSize()];
            for (int head = 0; head < config.headCount(); head++) {
                attend(spec, q[t], k, v, t, head, mixed);
            }
            add(states[t], times(prefix + "self_attn.o_proj.weight", mixed));
        }
    }

    private void attend(AttentionSpec spec, double[] query, double[][] k, double[][] v, int t, int head,
                        double[] mixed) {
        int size = config.headSize();
        int kv = head / (config.headCount() / config.kvHeadCount()) * size;
        double[] weights = new double[t + 1];
        int first = spec.window() == 0 ? 0 : Math.max(0, t - (spec.window() - 1));
        double sum = 0;
        for (int s = first; s <= t; s++) {
            double dot = 0;
            for (int i = 0; i < size; i++) {
                dot += query[head * size + i] * k[s][kv + i];
            }
            double score = dot * spec.scale();
            weights[s] = Math.exp(spec.softCap() == 0 ? score : spec.softCap() * Math.tanh(score / spec.softCap()));
            sum += weights[s];
        }
        for (int s = first; s <= t; s++) {
            for (int i = 0; i < size; i++) {
                mixed[head * size + i] += weights[s] / sum * v[s][kv + i];
            }
        }
    }

    private void addFeedForward(String prefix, double[] state) {
        double[] normed = norm(prefix + "post_attention_layernorm.weight", state);
        double[] gate = times(prefix + "mlp.gate_proj.weight", normed);
        double[] up = times(prefix + "mlp.up_proj.weight", normed);
        for (int i = 0; i < gate.length; i++) {
            gate[i] = gate[i] / (1 + Math.exp(-gate[i])) * up[i];
        }
        add(state, times(prefix + "mlp.down_proj.weight", gate));
    }

    private double[] rotated(double[] heads, int position) {
        int size = config.headSize();
        double[] turned = new double[heads.length];
        for (int start = 0; start < heads.length; start += size) {
            for (int i = 0; i < size / 2; i++) {
                double angle = position * Math.pow(config.layers().getFirst().rotation().theta(), -2.0 * i / size);
                double a = heads[start + i];
                double b = heads[start + size / 2 + i];
                turned[start + i] = a * Math.cos(angle) - b * Math.sin(angle);
                turned[start + size / 2 + i] = a * Math.sin(angle) + b * Math.cos(angle);
            }
        }
        return turned;
    }

    private double[] norm(String name, double[] x) {
        double squares = 0;
        for (double value : x) {
            squares += value * value;
        }
        double[] y = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            y[i] = x[i] / Math.sqrt(squares / x.length + config.normEpsilon()) * weight(name)[i];
        }
        return y;
    }

    private double[] times(String name, double[] x) {
        float[] w = weight(name);
        double[] y = new double[w.length / x.length];
        for (int row = 0; row < y.length; row++) {
            for (int i = 0; i < x.length; i++) {
                y[row] += w[row * x.length + i] * x[i];
            }
        }
        return y;
    }

    private static void add(double[] target, double[] addend) {
        for (int i = 0; i < target.length; i++) {
            target[i] += addend[i];
        }
    }

    private float[] weight(String name) {
        float[] values = model.weights().get(name);
        if (values == null) {
            throw new IllegalArgumentException(name);
        }
        return values;
    }
}
