package dev.warmpath.workload;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * Loads drawn from distributions, each a habit of clients that differs from the others in what it shares and for how
 * long. Texts are whole pieces of 16 tokens; sessions begin at random (Poisson). Everything follows from the seed.
 */
public enum GeneratedLoad {

    /** One system prompt of 512 tokens for all, a short question, one answer. */
    CHATBOT {
        @Override
        Session session(Drawing drawing, long startMicros) {
            return drawing.alone(startMicros, drawing.shared(0, 0, 512), drawing.logNormal(24, 0.8), 160);
        }
    },
    /** The same with five system prompts of 512 to 2,048 tokens, one more popular than the other. */
    FIVE_CHATBOTS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            int tenant = drawing.zipf(5, 1);
            return drawing.alone(startMicros, drawing.shared(1, tenant, drawing.fixed(tenant, 512, 2_048)), 60, 160);
        }
    },
    /** 400 tenants, popular as 1/rank, with a system prompt of 512 to 2,048 tokens each. */
    TENANTS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            int tenant = drawing.zipf(400, 1);
            return drawing.alone(startMicros, drawing.shared(2, tenant, drawing.fixed(tenant, 512, 2_048)), 60, 160);
        }
    },
    /** Eight system prompts of 1,024 tokens, six turns on average, 22 s to think. */
    CONVERSATIONS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            long[] begin = drawing.shared(3, drawing.below(8), 1_024);
            return drawing.growing(startMicros, begin, drawing.geometric(6), 60, 180, 22);
        }
    },
    /** 256 tokens for all, then one of 20,000 documents of 1,000 to 3,000 tokens, and a question. */
    DOCUMENTS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            int document = drawing.zipf(20_000, 0.8);
            long[] begin = concat(drawing.shared(4, 0, 256),
                    drawing.shared(5, document, drawing.fixed(document, 1_000, 3_000)));
            return drawing.alone(startMicros, begin, 30, 200);
        }
    },
    /** Code is completed in files of 500 to 8,000 tokens that are edited somewhere; a third of the time a new file. */
    COMPLETION {
        @Override
        Session session(Drawing drawing, long startMicros) {
            List<Turn> turns = new ArrayList<>();
            long[] file = drawing.unique(drawing.logUniform(500, 8_000));
            for (int turn = drawing.geometric(12); turn > 0; turn--) {
                if (drawing.below(100) < 35) {
                    file = drawing.unique(drawing.logUniform(500, 8_000));
                } else {
                    long[] begin = Arrays.copyOf(file, drawing.below(file.length));
                    file = concat(begin, drawing.unique((file.length - begin.length) * PIECE));
                }
                turns.add(drawing.turn(file, 48));
            }
            return drawing.session(startMicros, turns, 8);
        }
    },
    /** Texts of 550 tokens to be summarised, behind one of four instructions of 64. */
    SUMMARIES {
        @Override
        Session session(Drawing drawing, long startMicros) {
            return drawing.alone(startMicros, drawing.shared(6, drawing.below(4), 64), drawing.logNormal(550, 0.6), 96);
        }
    },
    /** 1,024 tokens that nobody has seen. */
    UNIQUE {
        @Override
        Session session(Drawing drawing, long startMicros) {
            return drawing.alone(startMicros, new long[0], 1_024, 128);
        }
    },
    /** Agents with one of 30 sets of tools, 2,000 to 8,000 tokens, popular as 1/rank; ten calls, short pauses. */
    AGENTS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            int tools = drawing.zipf(30, 1);
            long[] begin = drawing.shared(7, tools, drawing.fixed(tools, 2_000, 8_000));
            return drawing.growing(startMicros, begin, drawing.geometric(10), 400, 120, 4);
        }
    },
    /** Programmers' sessions: 18,000 tokens for all, about 25 rounds that add some 1,400, 9 s between them. */
    CODING {
        @Override
        Session session(Drawing drawing, long startMicros) {
            return drawing.growing(startMicros, drawing.shared(8, 0, 18_000), drawing.geometric(25), 1_100, 300, 9);
        }
    },
    /** Twelve system prompts of 160 to 960 tokens, popular as 1/rank; four turns on average, 2 s to think. */
    QUICK_CHATS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            int tenant = drawing.zipf(12, 1);
            long[] begin = drawing.shared(9, tenant, drawing.fixed(tenant, 160, 960));
            return drawing.growing(startMicros, begin, drawing.geometric(4), 170, 70, 2);
        }
    },
    /** The same about one of 60 documents of 2,000 to 6,000 tokens. */
    DOCUMENT_CHATS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            int document = drawing.zipf(60, 1);
            long[] begin = drawing.shared(10, document, drawing.fixed(document, 2_000, 6_000));
            return drawing.growing(startMicros, begin, drawing.geometric(4), 170, 70, 2);
        }
    },
    /** A client that has five conversations of eight turns, without a pause, behind 1,056 tokens for all. */
    BUSY_CLIENTS {
        @Override
        Session session(Drawing drawing, long startMicros) {
            List<Turn> turns = new ArrayList<>();
            for (int conversation = 0; conversation < 5; conversation++) {
                turns.addAll(drawing.growing(0, drawing.shared(11, 0, 1_056), 8, 32, 64, 0).turns());
            }
            return drawing.session(startMicros, turns, 0);
        }
    },
    /** Nine of ten requests have the same 2,048 tokens before a question, the tenth has a text of its own. */
    ONE_FOR_MOST {
        @Override
        Session session(Drawing drawing, long startMicros) {
            long[] begin = drawing.below(10) > 0 ? drawing.shared(12, 0, 2_048) : drawing.unique(2_048);
            return drawing.alone(startMicros, begin, 60, 160);
        }
    };

    /** Tokens of a piece. */
    public static final int PIECE = 16;

    private static final Map<String, GeneratedLoad> BY_NAME = byName();

    /** All, by the names that commands know them by: those of the hit-rate table, and the others' own. */
    public static Map<String, GeneratedLoad> named() {
        return BY_NAME;
    }

    private static Map<String, GeneratedLoad> byName() {
        Map<String, GeneratedLoad> named = new TreeMap<>();
        for (GeneratedLoad load : values()) {
            named.put(load.name().toLowerCase(Locale.ROOT).replace('_', '-'), load);
        }
        named.put("multi-turn", named.remove("conversations"));
        named.put("rag", named.remove("documents"));
        named.put("code-completion", named.remove("completion"));
        named.put("random", named.remove("unique"));
        return Collections.unmodifiableMap(named);
    }

    abstract Session session(Drawing drawing, long startMicros);

    /**
     * In order of time.
     *
     * @param count             of sessions
     * @param sessionsPerSecond on average
     */
    public List<Session> sessions(int count, double sessionsPerSecond, long seed) {
        return Stream.generate(endless(sessionsPerSecond, seed)).limit(count).toList();
    }

    /** The same without an end, each drawn when it is asked for: as many of them as are wanted at a time. */
    public Supplier<Session> endless(double sessionsPerSecond, long seed) {
        var drawing = new Drawing(seed + ordinal());
        double[] micros = {0};
        return () -> {
            micros[0] += drawing.exponential(1e6 / sessionsPerSecond);
            return session(drawing, (long) micros[0]);
        };
    }

    private static long[] concat(long[] first, long[] second) {
        long[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    /** What is drawn, and the numbers that no piece has yet. */
    static final class Drawing {

        private static final long UNIQUE_FROM = 1L << 40;
        private static final int MOST_PIECES = 1 << 12;

        private final RandomGenerator random;
        private long nextUnique = UNIQUE_FROM;

        Drawing(long seed) {
            random = new SplittableRandom(seed);
        }

        int below(int bound) {
            return random.nextInt(bound);
        }

        double exponential(double mean) {
            return -mean * Math.log(1 - random.nextDouble());
        }

        int logNormal(int median, double sigma) {
            return (int) Math.round(median * Math.exp(sigma * random.nextGaussian()));
        }

        int logUniform(int least, int most) {
            return (int) Math.round(least * Math.pow((double) most / least, random.nextDouble()));
        }

        /** From 1 on, so many on average. */
        int geometric(int mean) {
            return 1 + (int) (Math.log(1 - random.nextDouble()) / Math.log(1 - 1.0 / mean));
        }

        /** A rank from 0, r with a probability in proportion to 1 / (r + 1)^exponent; by rejection (Devroye 1986). */
        int zipf(int ranks, double exponent) {
            while (true) {
                int rank = random.nextInt(ranks);
                // inverse of the integral where it is simple would be quicker; loads are drawn once
                if (random.nextDouble() < Math.pow(rank + 1, -exponent)) {
                    return rank;
                }
            }
        }

        /** The same number for the same thing, between the two. */
        int fixed(int thing, int least, int most) {
            return least + new SplittableRandom(thing).nextInt(most - least + 1);
        }

        /** Pieces of a text that others have, too. @param kind of text. @param number which one */
        long[] shared(int kind, int number, int tokens) {
            long[] pieces = new long[pieces(tokens)];
            for (int i = 0; i < pieces.length; i++) {
                pieces[i] = ((long) kind << 32) + (long) number * MOST_PIECES + i;
            }
            return pieces;
        }

        long[] unique(int tokens) {
            long[] pieces = new long[pieces(tokens)];
            for (int i = 0; i < pieces.length; i++) {
                pieces[i] = nextUnique++;
            }
            return pieces;
        }

        private static int pieces(int tokens) {
            return Math.max(1, Math.ceilDiv(tokens, PIECE));
        }

        Turn turn(long[] pieces, int answerTokens) {
            return new Turn(new Prompt(pieces, PIECE, pieces.length * PIECE), pieces(answerTokens) * PIECE);
        }

        Session alone(long startMicros, long[] begin, int textTokens, int answerTokens) {
            int answer = (int) Math.max(PIECE, exponential(answerTokens));
            return Session.of(startMicros, turn(concat(begin, unique(textTokens)), answer));
        }

        /** Each turn has all that was said before. */
        Session growing(long startMicros, long[] begin, int turnCount, int textTokens, int answerTokens,
                double thinkSeconds) {
            List<Turn> turns = new ArrayList<>();
            long[] said = begin;
            for (int i = 0; i < turnCount; i++) {
                said = concat(said, unique((int) Math.max(PIECE, exponential(textTokens))));
                Turn turn = turn(said, (int) Math.max(PIECE, exponential(answerTokens)));
                turns.add(turn);
                long[] answer = new long[turn.answerTokens() / PIECE];
                Arrays.fill(answer, Prompt.ANSWER);
                said = concat(said, answer);
            }
            return session(startMicros, turns, thinkSeconds);
        }

        Session session(long startMicros, List<Turn> turns, double thinkSeconds) {
            long[] think = new long[turns.size() - 1];
            Arrays.setAll(think, _ -> (long) exponential(thinkSeconds * 1e6));
            return new Session(startMicros, turns, think);
        }
    }
}
